/** The messages between a trial, its process, and the threads of that. */
import type { QueueSpec, SharedQueueHandle, SharedQueueStatistics, WaitStats } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { ListenParams } from './listen-params.ts';

export interface ListenJob {
  dir: string;
  params: ListenParams;
  seed: number;
  /** Detects messages of other trials. */
  nonce: number;
  warmupMs: number;
  measureMs: number;
  drainMs: number;
}

/** Values read at the start and at the end of the measured window. */
export interface Snapshot {
  /** Monotonic milliseconds. */
  atMs: number;
  statistics: SharedQueueStatistics;
  waits: WaitStats[];
  /** CPU of the process, µs. */
  cpuUs: number;
  /** Times that the kernel took a core from one of its threads. */
  preemptions: number;
}

export interface ListenResult {
  before: Snapshot;
  after: Snapshot;
  /** Numbers of the dequeuers' sessions. */
  dequeuers: number[];
  ledgers: LedgerReport[];
  stated: string;
}

export type ToHost = { type: 'job'; job: ListenJob };
export type FromHost = { type: 'result'; result: ListenResult };

export const subscriberOf = (pair: number) => `KSUB_${pair + 1}`;
export const queueName = 'MSG_QUEUE_MULTIPLE';

/**
 * The document's queue, as far as it costs the load nothing: sorted by priority, then by the time of the enqueue, and retried after
 * two seconds, without a limit.
 */
export const documentQueue = {
  type: 'topic',
  priorities: true,
  retryDelayMs: 2_000,
  attemptsMax: null,
} as const satisfies Omit<QueueSpec, 'name'>;

/** Words that the threads share: the current phase, and the number of consumed messages of each pair. */
export const phases = { prepare: 0, run: 1, drain: 2 } as const;
export const phaseAt = 0;
export const consumedAt = 16;

export interface ThreadJob {
  handle: SharedQueueHandle;
  control: SharedArrayBuffer;
  role: 'enqueue' | 'dequeue';
  /** Pairs whose sessions are on this thread; a thread that dequeues has one, because it sleeps while it waits. */
  pairs: number[];
  params: ListenParams;
  seed: number;
  nonce: number;
}

export type FromThread =
  | { type: 'ready'; sessions: number[] }
  | { type: 'done'; ledger: LedgerReport }
  | { type: 'failed'; code: string | undefined; message: string; stack: string | undefined };
