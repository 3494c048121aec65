/** Judges of bounds: stalls of the event loop (P16 to P18), and a standing backlog (P11, P19, P20). */
import { numberParam, type Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { provenanceOf } from '../../../judging/queue-points.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import { openLoopParamsOf } from '../../../programs/load/load-params.ts';
import { closedLoopPoints } from './load-points.ts';
import { targets } from './targets.ts';

interface Bound {
  figure: string;
  statement: string;
  unit: string;
  under: number;
}

/** A figure of the first of the points is under a bound. */
function within([point]: readonly Point[], { figure, statement, unit, under }: Bound, needed: string) {
  const sample = point === undefined ? undefined : figureSample(point, figure);
  if (point === undefined || sample === undefined || sample.repeats.length === 0) return needs(needed);
  const provenance = provenanceOf([point.figures[figure]!]);
  return [clauseOf({ statement, unit, sample, under, provenance })];
}

const stalls: Bound = {
  figure: 'eventLoopDelayP99Ms',
  statement: 'timers of the session thread are hardly late',
  unit: 'ms, 99th percentile of the delay',
  under: targets.eventLoopDelayMs,
};

const atHalfLoad =
  (isSlowDisk: boolean): Judge =>
  (points) =>
    within(
      points.filter(({ program, system, params }) => {
        const { shareOfMaximum, emulatedSyncMs } = openLoopParamsOf(params);
        const isMeant = shareOfMaximum === 0.5 && emulatedSyncMs > 0 === isSlowDisk;
        return program === 'open-loop' && system === 'sharded' && isMeant;
      }),
      stalls,
      `Needs points of an open loop of the sharded queue at half of its maximum rate${isSlowDisk ? ', with an emulated sync' : ''}.`,
    );

export const judgeP16 = atHalfLoad(false);
export const judgeP17 = atHalfLoad(true);

export const judgeP18: Judge = (points) =>
  within(
    closedLoopPoints(points, 'enqueue-then-dequeue').filter(
      ({ system, params }) => system === 'sharded' && params.enqueuers === 1,
    ),
    stalls,
    'Needs points of one enqueuer that only enqueues.',
  );

const standing = (points: readonly Point[]): Point[] =>
  points
    .filter(({ program, system }) => program === 'standing-backlog' && system === 'sharded')
    .toSorted((a, b) => backlogOf(a) - backlogOf(b));
const backlogOf = ({ params }: Point) => numberParam(params, 'backlog');
const large = (points: readonly Point[]) =>
  standing(points).filter((point) => backlogOf(point) >= targets.backlogLarge);

const inMessages = targets.backlogLarge.toLocaleString('en-US');
const needsLarge = `Needs points of the sharded queue with a standing backlog of ${inMessages} messages.`;

export const judgeP11: Judge = (points) => {
  const [small] = standing(points);
  const [most] = large(points);
  if (most === undefined || small === undefined || small === most)
    return needs(`${needsLarge.slice(0, -1)}, and with a small one.`);
  return [
    clauseOf({
      statement: 'the rate hardly falls',
      unit: '× the dequeue rate with a small backlog',
      sample: ratioOf(figureSample(most, 'dequeuePerSec'), figureSample(small, 'dequeuePerSec')),
      over: targets.backlog,
      provenance: 'measured',
      numbers: `${[most, small].map((point) => `${perSec(point.figures.dequeuePerSec?.value ?? 0)} with ${backlogOf(point).toLocaleString('en-US')}`).join(' over ')}.`,
    }),
  ];
};

export const judgeP19: Judge = (points) =>
  within(
    large(points),
    {
      figure: 'residentMiB',
      statement: 'memory stays bounded',
      unit: 'MiB resident, load generator included',
      under: targets.residentMiB,
    },
    needsLarge,
  );

export const judgeP20: Judge = (points) =>
  within(
    large(points),
    {
      figure: 'readyAfterKillMs',
      statement: 'the queue is ready soon after a kill',
      unit: 'ms from opening',
      under: targets.readyAfterKillMs,
    },
    needsLarge,
  );
