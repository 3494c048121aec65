/** What forwarding needs of the way to the other instances; `cluster/interconnect/` has it over their sockets. */
import type { IdRun } from '../../storage/id-runs.ts';
import type { RecordRun } from '../../storage/message-record.ts';

/** A shard of a queue. */
export interface ShardName {
  queueId: number;
  shard: number;
}

/** The beginning of a shard, on its way. */
export interface Batch extends ShardName {
  /** Higher than that of every batch that the giver sent before. */
  no: number;
  /** Where it lies in the logs of its giver. */
  extent: readonly IdRun[];
  /** By index in the batch, how often a message was handed out before. */
  attempts: readonly (readonly [index: number, times: number])[];
  records: RecordRun;
}

/** What a receiver knows of a shard that it was given. */
export interface LoanReport {
  /** The last batch that it has committed; 0: none. */
  batchNo: number;
  extent: readonly IdRun[];
  /** It has nothing left of it that was not handed out. */
  delivered: boolean;
}

/**
 * Another instance of the cluster. A call that rejects may or may not have been done: the connection was lost, or there
 * is none, or the peer failed.
 */
export interface Peer {
  readonly instance: number;
  /** Asks for one batch of up to `max` messages. Resolves once it came, or when it was taken back by `unwant`. */
  want(queueId: number, max: number): Promise<void>;
  unwant(queueId: number): void;
  /** Resolves with whether the peer has committed the batch; if not, it never will. */
  forward(batch: Batch): Promise<boolean>;
  /** The batches of earlier connections, and of earlier processes of this instance, are void from then on. */
  report(shard: ShardName, options: { whenDelivered: boolean }): Promise<LoanReport>;
  /** Asks for what the peer has of the shard and has not handed out. */
  recall(shard: ShardName): Promise<void>;
}

/** Who gives: an instance, in a process and over a connection, each of which has a successor one day. */
export interface Giver {
  instance: number;
  epoch: number;
  connection: number;
}

export interface Interconnect {
  /** Without a call to dequeue for this long a queue has no consumer on this instance. */
  readonly idleMs: number;
  /** The other instances that a process hosts. */
  peers(): readonly number[];
  peer(instance: number): Peer;
}
