/** The stored rows about messages that moved between two instances, one row for each shard and peer. */

import type { IdRun } from './id-runs.ts';
import type { BatchNumber, InstanceId, LogId, QueueId } from './ids.ts';

/** Messages of a shard that this instance sent to another one. */
export interface ForwardedOutRow {
  queueId: QueueId;
  shard: LogId;
  receiver: InstanceId;
  /** The last batch whose messages are marked as moved in this file. The sender counts batches up and never reuses one. */
  batchNumber: BatchNumber;
  messagesTotal: number;
  /** The receiver must be asked what it has before more of the shard is delivered here. */
  unsettled: boolean;
}

/** Messages of a shard that this instance got from another one. */
export interface ForwardedInRow {
  queueId: QueueId;
  shard: LogId;
  sender: InstanceId;
  /** The last batch received. */
  batchNumber: BatchNumber;
  /** Ids of its messages, in the logs of the sender. */
  batchIdRuns: readonly IdRun[];
  messagesTotal: number;
}
