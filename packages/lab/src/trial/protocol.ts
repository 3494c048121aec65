/**
 * What the coordinator of a trial and its instance processes say to each other. A trial goes
 *
 *     open → opened → run → enqueuersDone → sealed → drained → finish → result → the channel closes, the process exits
 *
 * with ticks in between. The phases follow one timeline on the clock that all processes share, so that they change
 * everywhere at once without a message for each. Nothing is sent for single messages of the queue.
 */
import type { InstanceSample, Rows, SessionPlace, Tick } from '@shardlab/contract';
import type { WaitStats } from '@shardlab/engine';
import type { QueueLayout } from './layout.ts';
import type { LedgerReport, OrderScope } from './ledger.ts';

export interface WorkerConfig {
  dir: string;
  instance: number;
  /** Embedded: the process hosts the instance; remote: another one does, and this one connects to it. */
  sessions: SessionPlace;
  layout: QueueLayout;
  /** One instance makes the queues, before the others open. */
  createsQueues: boolean;
  /** Null: the engine's default. */
  cacheBytesMax: number | null;
  /** Numbers of the enqueuers that run here. */
  enqueuers: number[];
  /** So many dequeuers at every outlet run here. */
  dequeuers: number;
  /** Other instances whose messages come here. */
  feeders: number[];
  /** Messages that its enqueuers put in before the warm-up. */
  backlog: number;
  payloadBytes: number;
  operationsPerTransaction: number;
  rows: Rows;
  backlogMax: number;
  roundTripMs: number;
  orderScope: OrderScope;
  /** The queue becomes a sharded one in mid-run. */
  converts: boolean;
  /** Between two ticks. */
  tickMs: number;
  seed: number;
  nonce: number;
}

/** When each phase begins, on the monotonic clock. */
export interface Timeline {
  warmupAtMs: number;
  measureAtMs: number;
  /** Enqueuers stop, the drain begins. */
  stopAtMs: number;
  /** Dequeuers stop, even if messages remain. */
  drainUntilMs: number;
}

export type ToWorker =
  | { type: 'open'; config: WorkerConfig }
  | { type: 'run'; timeline: Timeline }
  /** This instance's share of the backlog of a queue that all instances share. */
  | { type: 'backlogShare'; messages: number }
  /** No enqueuer of any instance will commit again: empty now means empty for good. */
  | { type: 'sealed' }
  | { type: 'finish'; browse: boolean };

/** A time without an acknowledged commit, on the monotonic clock; infinite while it goes on. */
export interface Gap {
  fromMs: number;
  toMs: number;
}

/** What one instance did in the measured window. */
export interface WindowResult {
  ms: number;
  enqueued: number;
  consumed: number;
  cpuUs: number;
  waits: WaitStats[];
  /** Encoded HDR histograms, microseconds. */
  latency: string;
  dequeueCall: string;
}

export interface WorkerResult {
  window: WindowResult;
  /** By outlet. */
  ledgers: LedgerReport[];
  /** Over the whole trial, in order. */
  gaps: Gap[];
  /** The same, of the commits that enqueue alone. */
  enqueueGaps: Gap[];
}

export type FromWorker =
  | { type: 'opened' }
  | {
      type: 'tick';
      phase: Tick['phase'];
      sample: InstanceSample;
      /** What the sample covers, on the monotonic clock. */
      fromMs: number;
      toMs: number;
      enqueued: number;
      consumed: number;
    }
  | { type: 'enqueuersDone' }
  | { type: 'drained' }
  | { type: 'result'; result: WorkerResult }
  | { type: 'failed'; code: string; message: string; details: Record<string, unknown>; stack: string };
