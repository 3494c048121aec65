/** The messages between a trial and its client process, which does one job and ends. */

import type { WaitStats } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { ClientOptions } from '../../systems/driver/driver.ts';
import type { DriverName } from '../../systems/drivers.ts';
import type { ConsumerOrder } from '../consumer-orders.ts';
import type { Sampled } from './client-samples.ts';

export interface CompletionWork {
  kind: 'completion';
  /** Enqueued and dequeued in each cycle, by all threads together. */
  messages: number;
  /** Enqueuers, and as many dequeuers. */
  threads: number;
  /** Whether dequeuers work while enqueuers do, instead of after them. */
  atOnce: boolean;
  /** Cycles of few messages before the measured ones. */
  warmupMs: number;
  /** Whole cycles are repeated until this time is over; at least one. */
  measureMs: number;
}

export interface FlowControlWork {
  kind: 'flow-control';
  /** Messages that are offered before any is dequeued. */
  attempts: number;
}

/** Work of a process that is killed. */
export interface UntilKilledWork extends Pick<CompletionWork, 'threads' | 'atOnce'> {
  kind: 'until-killed';
}

/** Work of a process that reads what a killed one left: as many consumers. */
export interface RecoveryWork extends Pick<CompletionWork, 'threads'> {
  kind: 'recovery';
}

export type MeasuredWork = CompletionWork | FlowControlWork;
export type ClientWork = MeasuredWork | UntilKilledWork | RecoveryWork;

export interface ClientJob {
  driver: DriverName;
  order: ConsumerOrder;
  client: ClientOptions;
  work: ClientWork;
  payloadBytes: number;
  seed: number;
  /** Detects messages of other trials. */
  nonce: number;
  /** Milliseconds without a delivery after which the missing messages are given up. */
  drainMs: number;
  serverPids: number[];
  /** File of the process's book, if it is killed; null if it is not. */
  book: string | null;
}

export interface ClientResult {
  /** Figures by name, in the program's units. */
  figures: Record<string, number>;
  measuredMs: number;
  waits: WaitStats[];
  /** Durability as the system reports it. */
  stated: string;
  ledger: LedgerReport;
  /** Messages in the queues at the end, as the system counts them. */
  depth: number;
}

export type ToClient = { type: 'job'; job: ClientJob };

export type FromClient =
  | { type: 'opened' }
  | ({ type: 'sample' } & Sampled)
  | { type: 'result'; result: ClientResult };
