/** The study of the project's own targets: against SQLite alone, and against other queues. */
import { closedLoop } from '../../programs/load/closed-loop-program.ts';
import { openLoop } from '../../programs/load/open-loop-program.ts';
import { standingBacklog } from '../../programs/load/standing-backlog-program.ts';
import { rawLimit } from '../../programs/raw-limit/raw-limit-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { notMeasured } from './not-measured.ts';

const queueFigures = [
  'dequeuePerSec',
  'enqueuePerSec',
  'cpuUsPerMessage',
  'cpuUsPerMessageWithoutGenerator',
  'latencyP50Ms',
  'latencyP99Ms',
  'rawPerSec',
  'rawRatio',
  'logLoopPerSec',
  'logLoopRatio',
  'groupLoopPerSec',
  'groupLoopRatio',
];

export const study: Study = {
  id: 'peers',
  document: {
    letter: 'P',
    title: 'Targets of the engine',
    kind: "This project's own targets (docs/benchmarks.md)",
    author: 'This project',
    addresses: [],
    date: '2026-11',
    about:
      'How fast the engine is to be against SQLite without a queue and against widely used queues, how late its timers may fire, and what a large backlog may cost.',
  },
  claims,
  notMeasured,
  reportFigures: { queue: queueFigures, topic: queueFigures },
  programs: [closedLoop, openLoop, standingBacklog, rawLimit],
};
