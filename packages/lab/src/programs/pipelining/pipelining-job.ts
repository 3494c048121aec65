/** The messages between a trial, its process, and the threads of that process. */
import type { ConsumerOptions, ProducerOptions } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { PipeliningParams } from './pipelining-params.ts';

export interface PipeliningJob {
  dir: string;
  params: PipeliningParams;
  seed: number;
  /** Detects messages of other trials. */
  nonce: number;
  warmupMs: number;
  measureMs: number;
  drainMs: number;
}

export const subscriberOf = (index: number) => `subscriber-${index}`;

/**
 * Words in memory that the threads share: the phase; once the producers have ended, how many deliveries are expected; and how many
 * deliveries all consumers have received.
 */
export const phases = { run: 0, drain: 1, producersEnded: 2 } as const;
export const phaseAt = 0;
export const expectedAt = 1;
export const receivedAt = 2;
export const controlWords = 3;

/** Length of a slice of time in which a thread counts, milliseconds. */
export const sliceMs = 50;

/** All producers of a trial. */
export interface ProducersJob {
  producers: number;
  options: ProducerOptions;
  /** Sends a second of each producer; 0: as many as it can. */
  sendsPerSec: number;
}

export interface ConsumerJob {
  options: ConsumerOptions;
  /** Pause between a message and the next call, milliseconds. Left out once the producers have ended. */
  workMs: number;
}

export interface ThreadJob {
  path: string;
  control: SharedArrayBuffer;
  queue: string;
  role: ProducersJob | ConsumerJob;
  payloadBytes: number;
  seed: number;
  nonce: number;
}

/** Counts of a thread, by slice. Times are epoch milliseconds, with fractions. */
export interface SliceCounts {
  startedAtMs: number;
  messages: number[];
  /** Time that calls waited, summed over the thread's sessions. */
  waitedMs: number[];
}

export interface ThreadReport {
  ledger: LedgerReport;
  counts: SliceCounts;
  /** Sends that were refused and tried again. */
  refused: number;
}

/** Messages that consumers hold, those in pipelines included, by slice of the window. */
export type HeldSlices = readonly number[];

export interface WindowCpu {
  /** Cores kept busy, by the process and by the thread of each consumer. */
  processCores: number;
  consumerCores: number[];
}

/** Results of a trial's threads. */
export interface ThreadsResult {
  openedAtMs: number;
  closedAtMs: number;
  producers: ThreadReport;
  /** Reports in the order of their jobs. */
  consumers: ThreadReport[];
  cpu: WindowCpu;
  held: HeldSlices;
}

export interface PipeliningResult extends ThreadsResult {
  ledgerOfLeft: LedgerReport;
}

export type ToHost = { type: 'job'; job: PipeliningJob };
export type FromHost = { type: 'result'; result: PipeliningResult };
export type ToThread = 'cpu';
export type FromThread =
  | { type: 'ready' }
  | { type: 'cpu'; cpuUs: number }
  | { type: 'done'; report: ThreadReport }
  | { type: 'failed'; code: string | undefined; message: string; stack: string | undefined };

export const nowMs = (): number => performance.timeOrigin + performance.now();
