import type { LogId, QueueId, Seq, SubscriberId } from './ids.ts';

/** Subscribers of topics as the catalog and the instances store them. */
export interface SubscriberRow {
  id: SubscriberId;
  name: string;
  durable: boolean;
}

/** A durable subscriber of one log of a topic. */
export interface SubscriptionRow {
  queueId: QueueId;
  shard: LogId;
  subscriber: SubscriberId;
  /** The subscriber gets messages from this sequence number on. */
  firstSeq: Seq;
}
