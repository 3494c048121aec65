/**
 * The messages between the coordinator of a trial and its instance processes. The sequence of a trial is
 *
 *     open → opened → run → enqueuersDone → sealed → drained → finish → result → the channel closes, the process exits
 *
 * with ticks in between. All processes follow one timeline on the clock they share, so that phases change everywhere at
 * the same time without further messages. Nothing is sent for single messages of the queue.
 */
import type { InstanceSample, Rows, SampledTraces, SessionPlace, Tick } from '@shardlab/contract';
import type { SessionTimes, WaitStats } from '@shardlab/engine';
import type { LedgerReport, OrderScope } from '../../../integrity/ledger.ts';
import type { Counts } from '../../../meters/counts.ts';
import type { InstanceHolders } from '../../../meters/event-holders.ts';
import type { MessageCounts } from '../../../meters/steadiness.ts';
import type { QueueLayout } from './layout.ts';

export interface WorkerConfig {
  dir: string;
  instance: number;
  /** Embedded: the process hosts the instance; remote: it connects to the process that does. */
  sessions: SessionPlace;
  layout: QueueLayout;
  /** Whether this instance creates the queues, before the others open. */
  createsQueues: boolean;
  /** Null: the engine's default. */
  cacheBytesMax: number | null;
  /** Numbers of the enqueuers in this process. */
  enqueuers: number[];
  /** Number of dequeuers per source in this process. */
  dequeuers: number;
  /** Other instances that forward messages to this one. */
  forwardsFrom: number[];
  /** Messages that its enqueuers enqueue before the warm-up. */
  backlog: number;
  payloadBytes: number;
  operationsPerTransaction: number;
  rows: Rows;
  backlogMax: number;
  roundTripMs: number;
  orderScope: OrderScope;
  /** Whether the dequeuers of all instances take messages from the same queues, in one order for all. */
  isShared: boolean;
  /** Whether dequeuers of other instances take messages of this one's enqueuers, so that its own counts do not give the backlog. */
  sharesBacklog: boolean;
  /** Whether the queue is converted during the trial. */
  converts: boolean;
  /** Interval of ticks, milliseconds. */
  tickMs: number;
  seed: number;
  nonce: number;
  /** File of the process's book, if it is killed; null if it is not. */
  book: string | null;
  /** Null: the engine. */
  otherHost: OtherHost | null;
}

/** What the sessions of a process use in the place of the engine. */
export interface OtherHost {
  /** Address of a module that exports `openHost`. */
  module: string;
  /** For that module. */
  settings: unknown;
}

/** The start of each phase, on the monotonic clock. */
export interface Timeline {
  warmupAtMs: number;
  measureAtMs: number;
  /** Enqueuers stop and the drain begins. */
  stopAtMs: number;
  /** Dequeuers stop, even if messages remain. */
  drainUntilMs: number;
}

export type ToWorker =
  | { type: 'open'; config: WorkerConfig }
  | { type: 'run'; timeline: Timeline }
  /** This instance's share of the backlog of a queue that all instances share. */
  | { type: 'backlogShare'; messages: number }
  /** No enqueuer of any instance will commit again: an empty queue stays empty. */
  | { type: 'sealed' }
  | { type: 'finish'; browse: boolean };

/** An interval without an acknowledged commit, on the monotonic clock; its end is infinite while it is open. */
export interface Gap {
  fromMs: number;
  toMs: number;
}

/** Costs of the load generator itself in this process, measured on an instance that does nothing: µs of CPU per message. */
export interface GeneratorCosts {
  inUs: number;
  outUs: number;
}

/** The work of one instance in the measured window. */
export interface WindowResult extends MessageCounts {
  firstHalf: MessageCounts;
  cpuUs: number;
  /** Synced group commits; 0 if the instance is served by another process. */
  syncs: number;
  waits: WaitStats[];
  /** Increases of the engine's counters; all 0 if the instance is served by another process. */
  counters: Counts;
  /** How the sessions of this process spent the window, and the CPU time of their thread. */
  times: SessionTimes;
  threadCpuUs: number;
  /** CPU time of the writer of an embedded instance. */
  writerCpuUs: number;
  /** Encoded HDR histograms, microseconds. */
  latency: string;
  dequeueCall: string;
  commit: string;
}

export interface WorkerResult {
  window: WindowResult;
  /** Null if payloads are streamed. */
  generator: GeneratorCosts | null;
  /** Reports by source. */
  ledgers: LedgerReport[];
  /** Nothing of an instance that another process serves. */
  holders: InstanceHolders;
  /** Null if messages of the queue are not traced. */
  traces: SampledTraces | null;
  /** Gaps between commits over the whole trial, in order. */
  gaps: Gap[];
  /** The same for commits that enqueue. */
  enqueueGaps: Gap[];
}

export type FromWorker =
  | { type: 'opened' }
  | {
      type: 'tick';
      phase: Tick['phase'];
      sample: InstanceSample;
      /** The interval of the sample, on the monotonic clock. */
      fromMs: number;
      toMs: number;
    }
  /** Messages that this instance's sessions have enqueued, less those that they have consumed. */
  | { type: 'backlog'; messages: number }
  | { type: 'enqueuersDone' }
  | { type: 'drained' }
  | { type: 'result'; result: WorkerResult }
  | { type: 'failed'; code: string; message: string; details: Record<string, unknown>; stack: string };
