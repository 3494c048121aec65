/** The program `closed-loop`: sessions that enqueue and dequeue as fast as a system lets them, for a time. */

import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { tracesIn } from '../../meters/trace-sampler.ts';
import type { RawShape } from '../../surroundings/surroundings.ts';
import type { DriverName } from '../../systems/drivers.ts';
import { installFor, missingFor } from '../../systems/missing.ts';
import { loops, restSystems, systemOf, systems } from '../../systems/systems.ts';
import type { TrialOptions, TrialOutcome } from '../../trial/trial.ts';
import { expandSweep, scalesOf } from '../expand-sweep.ts';
import type { LoopCell, Program } from '../program.ts';
import { timeContradiction } from '../queue/points/contradiction.ts';
import { closedLoopFigures } from './load-figures.ts';
import { closedLoopParameters, closedLoopParamsOf, loadOf, sessionsOf } from './load-params.ts';
import { type LoadTrial, onLoadedSystem } from './load-trial.ts';
import {
  countsPer,
  cpuUsPer,
  measuredMs,
  measuredOnly,
  merged,
  p99Of,
  ratePerSec,
  residentMiB,
  serverCpuUsPer,
  sessionTimesOf,
  steadyOf,
} from './step-figures.ts';

/**
 * The backlog of `enqueue-then-dequeue`, messages for each millisecond of the window: more than a system dequeues in it. Filling it
 * may take as long as the window.
 */
const filledPerMs = 750;

const startMs = 900;

/** More than any system enqueues; bounds the disk space of a trial, together with what is written ahead of the messages. */
const enqueuedPerMsMax = 600;
const fixedBytes = 512 * 1024 ** 2;

function trialBytesMax(scenario: Scenario, params: Params): number {
  const { payloadBytes } = closedLoopParamsOf(params);
  const { warmupMs, measureMs } = scenario.phases;
  const messages = (warmupMs + measureMs) * enqueuedPerMsMax + measureMs * filledPerMs;
  return fixedBytes + messages * (payloadBytes + 256);
}

/** Queues of our own sessions can be topics, and the bounds beside them. */
const topicDrivers: readonly DriverName[] = [
  'sharded',
  'sharded-remote',
  'sharded-prefetch',
  'unsharded',
  'unsharded-grouped',
  'log-loop',
  'group-loop',
  'jetstream',
];

function checkTopics(scenario: Scenario): ScenarioProblem[] {
  const topics = scalesOf(scenario)
    .flatMap((scale) => expandSweep(scenario, scale, closedLoop))
    .filter(({ params }) => (closedLoopParamsOf(params).subscribers ?? 0) > 0);
  const path = '/parameters/subscribers';
  const other = topics.find(({ system }) => !topicDrivers.includes(systemOf(system).driver));
  if (other !== undefined) return [{ path, message: `${other.system} has no topics` }];
  return topics.some(({ params }) => closedLoopParamsOf(params).schedule !== 'at-once')
    ? [{ path, message: 'Subscribers of a topic dequeue at once: give the schedule "at-once"' }]
    : [];
}

/** The raw loop of SQLite alone for the same transactions: inserts only, or the whole life of a row. */
function rawShape(params: Params): RawShape {
  const { schedule, operationsPerTransaction, payloadBytes } = closedLoopParamsOf(params);
  const cycle = schedule === 'at-once' ? 'insert-select-delete' : 'insert';
  return { cycle, operationsPerTransaction, pageBytes: 4096, payloadBytes };
}

/** A loop finds no messages that another process has left. */
function checkLoops({ systems: named, parameters, sweep }: Scenario): ScenarioProblem[] {
  const loop = named.find((system) => loops.some(({ driver }) => driver === system));
  const schedules = sweep.schedule ?? [parameters.schedule];
  if (loop === undefined || !schedules.includes('enqueue-then-dequeue')) return [];
  const message = `${loop} has its messages in one process: the schedule must be "at-once" or "enqueue"`;
  return [{ path: sweep.schedule === undefined ? '/parameters/schedule' : '/sweep/schedule', message }];
}

/** Of the sessions of one instance. Enqueues come first, and their rate is what is compared. */
function loopCell(params: Params): LoopCell {
  const { schedule, subscribers = 0, operationsPerTransaction, payloadBytes } = closedLoopParamsOf(params);
  return {
    schedule: schedule === 'at-once' ? 'at-once' : 'enqueue',
    ...sessionsOf(closedLoopParamsOf(params), { instances: 1 }),
    subscribers,
    operationsPerTransaction,
    payloadBytes,
  };
}

/** A route that only validates has nothing to deliver. */
function checkRest({ systems: named, parameters, sweep }: Scenario): ScenarioProblem[] {
  if (!named.includes('rest-validating')) return [];
  const schedules = sweep.schedule ?? [parameters.schedule ?? 'at-once'];
  if (schedules.every((each) => each === 'enqueue')) return [];
  const message = 'rest-validating keeps no message: the schedule must be "enqueue"';
  return [{ path: sweep.schedule === undefined ? '/parameters/schedule' : '/sweep/schedule', message }];
}

export const closedLoop: Program = {
  id: 'closed-loop',
  title: 'Enqueuers and dequeuers that work as fast as they can, on any system',
  parameters: closedLoopParameters,
  figures: closedLoopFigures,
  systems: [...systems, ...restSystems].map(({ info }) => info),
  missing: missingFor,
  install: installFor,
  check: (scenario) => [...checkTopics(scenario), ...checkLoops(scenario), ...checkRest(scenario)],
  estimateTrialMs({ params }: Combination, { warmupMs, measureMs, drainMs }: Phases) {
    const { schedule } = closedLoopParamsOf(params);
    const once = startMs + warmupMs + measureMs;
    if (schedule === 'enqueue') return once;
    return schedule === 'at-once' ? once + drainMs / 4 : 2 * once + measureMs;
  },
  trialBytesMax,
  trialLoad: (combination) => ({ ...loadOf(combination), isPaced: false }),
  rawShape,
  loopCell,
  contradiction: ({ figures }) => timeContradiction([figures.timeAccounted?.value ?? []].flat()),
  run(options) {
    const params = closedLoopParamsOf(options.trial.params);
    return onLoadedSystem(options, { params }, (trial) => {
      if (params.schedule === 'at-once') return atOnce(trial);
      return params.schedule === 'enqueue' ? enqueueOnly(trial) : enqueueThenDequeue(trial, options);
    });
  },
};

async function atOnce(trial: LoadTrial): Promise<TrialOutcome> {
  const { results, integrity } = await trial.step({});
  const eventLoopDelay = merged(results, 'eventLoopDelay');
  const { figures: timeFigures, waits } = sessionTimesOf(results);
  return {
    ...usual,
    figures: measuredOnly({
      enqueuePerSec: ratePerSec(results, 'enqueued'),
      dequeuePerSec: ratePerSec(results, 'consumed'),
      cpuUsPerMessage: cpuUsPer(results, 'consumed'),
      serverCpuUsPerMessage: serverCpuUsPer(results, 'consumed'),
      ...countsPer(results, 'consumed'),
      eventLoopDelayP99Ms: p99Of(eventLoopDelay),
      residentMiB: residentMiB(results),
      ...timeFigures,
    }),
    waits,
    latencies: { eventLoopDelay },
    ...tracesIn(results),
    integrity,
    stated: results[0]!.stated,
    measuredMs: measuredMs(results),
    steady: steadyOf(results, trial.copies),
  };
}

/** Only enqueues: the messages stay in the queue, and are counted. */
async function enqueueOnly(trial: LoadTrial): Promise<TrialOutcome> {
  const { results, integrity } = await trial.step({ dequeuers: 0, backlogMax: Infinity, drainMs: 0 });
  const eventLoopDelay = merged(results, 'eventLoopDelay');
  const { figures: timeFigures, waits } = sessionTimesOf(results);
  return {
    ...usual,
    figures: measuredOnly({
      enqueuePerSec: ratePerSec(results, 'enqueued'),
      cpuUsPerMessage: cpuUsPer(results, 'enqueued'),
      serverCpuUsPerMessage: serverCpuUsPer(results, 'enqueued'),
      ...countsPer(results, 'enqueued'),
      eventLoopDelayP99Ms: p99Of(eventLoopDelay),
      residentMiB: residentMiB(results),
      ...timeFigures,
    }),
    waits,
    latencies: { eventLoopDelay },
    integrity,
    stated: results[0]!.stated,
    measuredMs: measuredMs(results),
  };
}

/** The backlog that one process has left is dequeued by another one. */
async function enqueueThenDequeue(trial: LoadTrial, { phases }: TrialOptions): Promise<TrialOutcome> {
  const { measureMs } = phases;
  const fill = { messages: measureMs * filledPerMs, withinMs: measureMs };
  const { results: enqueued } = await trial.step({ dequeuers: 0, backlogMax: Infinity, fill });
  const { results: dequeued, integrity } = await trial.step({ enqueuers: [], drainMs: 0 });
  const cpuUs = [cpuUsPer(enqueued, 'enqueued'), cpuUsPer(dequeued, 'consumed')];
  const serverCpuUs = [serverCpuUsPer(enqueued, 'enqueued'), serverCpuUsPer(dequeued, 'consumed')];
  const eventLoopDelay = merged(enqueued, 'eventLoopDelay');
  const { figures: timeFigures, waits } = sessionTimesOf([...enqueued, ...dequeued]);
  return {
    ...usual,
    figures: measuredOnly({
      enqueuePerSec: ratePerSec(enqueued, 'enqueued'),
      dequeuePerSec: ratePerSec(dequeued, 'consumed'),
      cpuUsPerMessage: sumOf(cpuUs),
      serverCpuUsPerMessage: sumOf(serverCpuUs),
      ...countsPer(enqueued, 'enqueued'),
      eventLoopDelayP99Ms: p99Of(eventLoopDelay),
      residentMiB: residentMiB([...enqueued, ...dequeued]),
      ...timeFigures,
    }),
    waits,
    latencies: { eventLoopDelay },
    integrity,
    stated: enqueued[0]!.stated,
    measuredMs: measuredMs(enqueued) + measuredMs(dequeued),
  };
}

const sumOf = (values: readonly (number | undefined)[]) =>
  values.includes(undefined) ? undefined : values.reduce<number>((total, value) => total + value!, 0);

const usual = { provenance: 'measured', byInstance: {} } as const satisfies Partial<TrialOutcome>;
