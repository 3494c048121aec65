/** The messages between a trial, its process, and the threads of that. */
import type { LedgerReport } from '../../trial/ledger.ts';
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

export const topicName = 'topic';
export const subscriberOf = (index: number) => `subscriber-${index}`;

/** Words that the threads share: what they are to do, and the messages that all producers have sent once they are done. */
export const phases = { run: 0, drain: 1 } as const;
export const phaseAt = 0;
export const sentAt = 1;
export const controlWords = 2;

/** Length of a slice of time in which a thread counts, milliseconds. */
export const sliceMs = 50;

export interface ThreadJob {
  path: string;
  control: SharedArrayBuffer;
  /** The number of a subscriber, or all producers. */
  role: 'produce' | { subscriber: number };
  params: PipeliningParams;
  seed: number;
  nonce: number;
}

/** What a thread did from slice to slice. Times are milliseconds since 1970, with fractions. */
export interface SliceCounts {
  startedAtMs: number;
  messages: number[];
  /** Time that its calls waited, over all of its sessions. */
  waitedMs: number[];
}

export interface ThreadReport {
  ledger: LedgerReport;
  counts: SliceCounts;
  /** Sends that were refused and tried again. */
  refused: number;
}

export interface WindowCpu {
  /** Cores that the process kept busy, and those of each consumer's thread. */
  processCores: number;
  consumerCores: number[];
}

export interface PipeliningResult {
  openedAtMs: number;
  closedAtMs: number;
  producers: ThreadReport;
  consumers: ThreadReport[];
  cpu: WindowCpu;
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
