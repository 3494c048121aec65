/** The messages between a trial of the program `xa` and its client process. */
import type { SequenceLane, SessionWaits } from '@shardlab/contract';
import type { SessionTimes, WaitStats } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { XaParams } from './xa-params.ts';

export interface XaJob {
  dir: string;
  /** embedded: the client's process hosts the instances too; remote: other processes serve them. */
  place: 'embedded' | 'remote';
  /** Ids of the processes that serve the instances. */
  serverPids: number[];
  params: XaParams;
  seed: number;
  /** Detects messages of other trials. */
  nonce: number;
}

/** Over all transactions of the measured run, global or local. */
export interface XaCounts {
  transactions: number;
  /** Calls that the sessions made: a client of a database makes a round trip for each. */
  calls: number;
  /** Requests that left the client; null where the engine does not count them. */
  roundTrips: number | null;
  readOnlyVotes: number;
  /** Transactions whose branches were active at the same time: each from the answer to its start to the call of its end. */
  activeTogether: number;
  /** Prepares that one instance passed on to another. */
  preparesPassedOn: number;
}

export interface XaResult {
  elapsedMs: number;
  counts: XaCounts;
  waits: WaitStats[];
  times: SessionTimes;
  /** CPU of this process, and of those that serve the instances, µs; null if it cannot be read. */
  cpuUs: number;
  serverCpuUs: number | null;
  /** Branches in doubt at the end, on all instances. */
  inDoubt: number;
  sessionWaits: SessionWaits[];
  sequence: SequenceLane[];
  ledgers: LedgerReport[];
}

export type ToXaHost = { type: 'job'; job: XaJob };
export type FromXaHost = { type: 'result'; result: XaResult };
