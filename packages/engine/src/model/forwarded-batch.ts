/** Batches of messages that one instance forwards to another, and what the receiver reports about them. */

import type { IdRun } from './id-runs.ts';
import type { BatchNumber, ConnectionNumber, Epoch, InstanceId, LogId, QueueId } from './ids.ts';
import type { RecordRun } from './message-record.ts';

export interface ShardKey {
  queueId: QueueId;
  shard: LogId;
}

/** The oldest ready messages of a shard, sent to one receiver. */
export interface ForwardedBatch extends ShardKey {
  /** Higher than the number of every batch that the sender sent before. */
  batchNumber: BatchNumber;
  /** Ids of the messages in the sender's logs. */
  sourceRuns: readonly IdRun[];
  /** How often a message was delivered before, by its index in the batch; absent: never. */
  priorAttempts: readonly (readonly [index: number, times: number])[];
  records: RecordRun;
}

/** A receiver's report on the messages that it has stored of a forwarded shard. */
export interface ReceiverReport {
  /** The last batch that it committed; 0: none. */
  batchNumber: BatchNumber;
  sourceRuns: readonly IdRun[];
  /** Every message that it holds of the shard has been delivered at least once. */
  allDelivered: boolean;
}

/** The sender of a batch: an instance, in one opening of its file (`epoch`) and over one connection. */
export interface BatchSender {
  instance: InstanceId;
  epoch: Epoch;
  connectionNumber: ConnectionNumber;
}
