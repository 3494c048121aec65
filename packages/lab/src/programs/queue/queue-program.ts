/** The programs `queue` and `topic`: enqueuers and dequeuers that work as fast as they can, on the engine's kinds of queues. */
import { availableParallelism } from 'node:os';
import type { Combination, Params, Phases, Point, Scenario } from '@shardlab/contract';
import type { RawShape } from '../../surroundings/surroundings.ts';
import { queueSystems, storesCopies, topicSystems } from '../../systems/queue-systems.ts';
import type { KilledPoint, LoopCell, Program, TrialLoad } from '../program.ts';
import { contradictionOf } from './points/contradiction.ts';
import { queueParameters, queueParamsOf, topicParameters } from './points/queue-params.ts';
import { queuePointOf } from './points/queue-point.ts';
import { checkQueueScenario } from './queue-checks.ts';
import { queueFigures } from './queue-figures.ts';
import { estimateKilledMs, runKilledTrial } from './trial/run-killed-trial.ts';
import { runTrial } from './trial/run-trial.ts';

/** Measured on two cores: a message of the initial backlog is enqueued and finally browsed, a subscriber is created. */
const fillMsPerMessage = 0.02;
const subscribeMs = 1;
/** Measured on two cores, which the processes share while they start: the first one with all that is around a trial, and each further. */
const startMs = 550;
const startMsPerProcess = 350;

/** The phases, a part of the drain's limit, and starting the processes. During the run this overhead is replaced by the observed one. */
function estimateTrialMs(combination: Combination, phases: Phases): number {
  const drain = phases.drainMs / 8;
  const { backlog, subscribers = 0 } = queueParamsOf(combination.params);
  const { processes } = trialLoad(combination);
  const made =
    startMs + startMsPerProcess * (processes - 1) + fillMsPerMessage * backlog + subscribeMs * subscribers;
  return phases.warmupMs + phases.measureMs + drain + made;
}

/** Write-ahead logs, catalogs and partitions created ahead of need, per instance. */
const fixedBytesPerInstance = 128 * 1024 ** 2;
/** Overhead of a stored message beyond its payload, and the copies in the write-ahead log. */
const messageOverheadBytes = 256;
const copies = 2;

/**
 * Twice the maximum backlog plus the fixed part, approximately. A topic is assumed to be stored once per subscriber if one of
 * the systems does that.
 */
function trialBytesMax(scenario: Scenario, params: Params): number {
  const { instances, payloadBytes, backlog, backlogMax, subscribers = 1 } = queueParamsOf(params);
  const stored = scenario.systems.some(storesCopies) ? subscribers : 1;
  const messages = stored * (instances * backlogMax + backlog);
  return instances * fixedBytesPerInstance + copies * messages * (payloadBytes + messageOverheadBytes);
}

/**
 * There are as many dequeuers as enqueuers, for a topic as many for each subscriber. Remote sessions are in processes of their
 * own.
 */
function trialLoad({ params }: Combination): TrialLoad {
  const { instances, threads, sessions, subscribers = 1 } = queueParamsOf(params);
  const processes = sessions === 'remote' ? 2 * instances : instances;
  return { sessions: threads * (1 + subscribers), processes, isPaced: false };
}

/** A message in and out, as a job table does it, with SQLite's default page size. */
function rawShape(params: Params): RawShape {
  const { operationsPerTransaction, payloadBytes } = queueParamsOf(params);
  return { cycle: 'insert-select-delete', operationsPerTransaction, pageBytes: 4096, payloadBytes };
}

/** Larger payloads are not those of the programs that the bounds run in. */
const loopPayloadBytesMax = 65_536;

function loopCell(params: Params): LoopCell | null {
  const { threads, operationsPerTransaction, payloadBytes, subscribers = 0 } = queueParamsOf(params);
  if (payloadBytes > loopPayloadBytesMax) return null;
  const dequeuers = threads * Math.max(1, subscribers);
  return {
    schedule: 'at-once',
    enqueuers: threads,
    dequeuers,
    subscribers,
    operationsPerTransaction,
    payloadBytes,
  };
}

const isPromised = ({ params }: KilledPoint): boolean => queueParamsOf(params).durability !== 'memory';

/** No point is killed that promises nothing, or whose messages may be in transit between instances. */
const canKill = (point: KilledPoint): boolean =>
  isPromised(point) && queueParamsOf(point.params).dequeuers === 'same-instance';

const common = {
  figures: queueFigures,
  check: checkQueueScenario,
  estimateTrialMs,
  trialBytesMax,
  trialLoad,
  hasTicks: true as const,
  run: runTrial,
  contradiction: (point: Point) => contradictionOf(queuePointOf(point), availableParallelism()),
  rawShape,
  loopCell,
  kill: {
    durabilityOf: ({ params }: KilledPoint) => queueParamsOf(params).durability,
    isPromised,
    canKill,
    estimateMs: ({ params }: KilledPoint, phases: Phases) => estimateKilledMs(params, phases),
    run: runKilledTrial,
  },
};

export const queueProgram: Program = {
  id: 'queue',
  title: 'Enqueuers and dequeuers of a queue',
  parameters: queueParameters,
  systems: queueSystems,
  ...common,
};

/** With a topic, every enqueuer has one dequeuer per subscriber. */
export const topicProgram: Program = {
  id: 'topic',
  title: 'Enqueuers of a topic, and dequeuers of each subscriber',
  parameters: topicParameters,
  systems: topicSystems,
  ...common,
};
