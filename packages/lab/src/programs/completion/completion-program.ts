/** The program `run-to-completion`: a number of messages is enqueued and dequeued, one a call, by each system. */
import type { Combination, FigureInfo, Params, Phases, Scenario } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { installFor, missingFor } from '../../systems/missing.ts';
import { systemOf } from '../../systems/systems.ts';
import { expandSweep, scalesOf } from '../expand-sweep.ts';
import type { Program } from '../program.ts';
import { timeContradiction } from '../queue/points/contradiction.ts';
import { sessionTimeFigures } from '../session-time-figures.ts';
import { clientKill } from './client-kill.ts';
import { completionParameters, completionParamsOf } from './completion-params.ts';
import { completionSystems } from './completion-systems.ts';
import { runClientTrial } from './run-client-trial.ts';

/** The value to which the document raised the threshold of its buffered queue: no run reaches it. */
const messagesMax = 500_000;

const figures: readonly FigureInfo[] = [
  {
    name: 'enqueuePerSec',
    label: 'Enqueue rate',
    title: 'Enqueue rate',
    unit: 'messages per second',
    format: 'rate',
  },
  {
    name: 'dequeuePerSec',
    label: 'Dequeue rate',
    title: 'Dequeue rate',
    unit: 'messages per second',
    format: 'rate',
  },
  {
    name: 'elapsedMs',
    label: 'Elapsed',
    title: 'Time until all messages are dequeued',
    unit: 'milliseconds',
    format: 'milliseconds',
  },
  {
    name: 'clientCpuUsPerMessage',
    label: 'Client CPU',
    title: 'CPU time of the client per message',
    unit: 'microseconds; an embedded queue is part of the client',
    format: 'microseconds',
  },
  {
    name: 'clientCpuUsPerMessageWithoutGenerator',
    label: 'Client CPU without generator',
    title: 'CPU time of the client per message without that of the load generator',
    unit: 'microseconds; an embedded queue is part of the client',
    format: 'microseconds',
  },
  {
    name: 'generatorCpuUsPerMessage',
    label: 'Generator',
    title: 'CPU time of the load generator per message, on the null system',
    unit: 'microseconds',
    format: 'microseconds',
  },
  {
    name: 'serverCpuUsPerMessage',
    label: 'Server CPU',
    title: 'CPU time of the server per message',
    unit: 'microseconds; 0 if the queue is embedded',
    format: 'microseconds',
  },
  ...sessionTimeFigures,
];

/** Each queue needs a dequeuer, and some systems are one queue. */
function check(scenario: Scenario): ScenarioProblem[] {
  const points = scalesOf(scenario)
    .flatMap((scale) => expandSweep(scenario, scale, runToCompletion))
    .map(({ params, system }) => ({ ...completionParamsOf(params), system }));
  const path = scenario.sweep.queues === undefined ? '/parameters/queues' : '/sweep/queues';
  const unserved = points.find(({ queues, threads }) => queues > threads);
  const single = points.find(({ queues, system }) => queues > 1 && systemOf(system).queues === 'one');
  return [
    ...(unserved === undefined
      ? []
      : [{ path, message: `${unserved.queues} queues need as many threads, not ${unserved.threads}` }]),
    ...(single === undefined
      ? []
      : [{ path, message: `${single.system} is measured with one queue, not ${single.queues}` }]),
  ];
}

/**
 * Milliseconds per message from enqueue to dequeue: the minimum, and the additions for syncs and for calls to another process.
 * Measured with one thread.
 */
const msPerMessage = { least: 0.02, synced: 0.4, ofServer: 0.2 };
const startMs = 700;

function estimateTrialMs({ params, system }: Combination, { warmupMs, measureMs }: Phases): number {
  const { synced, server } = systemOf(system);
  const ms =
    msPerMessage.least + (synced ? msPerMessage.synced : 0) + (server === null ? 0 : msPerMessage.ofServer);
  return startMs + warmupMs + Math.max(measureMs, completionParamsOf(params).messages * ms);
}

/** Files of an instance or a server; Redis appends every cycle's messages to a log. */
const fixedBytes = 512 * 1024 ** 2;

function trialBytesMax(_: Scenario, params: Params): number {
  const { messages, payloadBytes } = completionParamsOf(params);
  return fixedBytes + 4 * messages * (payloadBytes + 256);
}

export const runToCompletion: Program = {
  id: 'run-to-completion',
  title: 'A number of messages, enqueued and dequeued to the last',
  parameters: completionParameters,
  figures,
  systems: completionSystems,
  missing: missingFor,
  install: installFor,
  check,
  estimateTrialMs,
  trialBytesMax,
  contradiction: ({ figures }) => timeContradiction([figures.timeAccounted?.value ?? []].flat()),
  hasTicks: true,
  kill: clientKill((params) => {
    const { threads, queues, schedule, payloadBytes } = completionParamsOf(params);
    return { threads, queues, payloadBytes, messagesMax, atOnce: schedule === 'at-once' };
  }),
  run(options) {
    const { messages, threads, queues, schedule, payloadBytes } = completionParamsOf(options.trial.params);
    const { warmupMs, measureMs } = options.phases;
    const atOnce = schedule === 'at-once';
    const work = { kind: 'completion', messages, threads, atOnce, warmupMs, measureMs } as const;
    return runClientTrial(options, { work, threads, queues, payloadBytes, messagesMax });
  },
};
