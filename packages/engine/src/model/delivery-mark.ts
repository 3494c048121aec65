import type { LogId, QueueId, Seq, SubscriberId } from './ids.ts';

/**
 * How far a subscriber had been delivered the messages of a log when the instance was closed. Those below `endSeq` that are
 * not terminal may have been seen by a consumer, although no attempt is recorded for them.
 */
export interface DeliveryMark {
  queueId: QueueId;
  shard: LogId;
  subscriber: SubscriberId;
  endSeq: Seq;
}
