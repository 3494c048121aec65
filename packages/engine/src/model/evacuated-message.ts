/** The few live messages that were copied out of an old partition so that it could be truncated. */
import type { LogId, QueueId, Seq, SubscriberId } from './ids.ts';

/** Identifies an evacuated message of one subscriber. A message has a row for each subscriber that has not consumed it. */
export interface EvacuatedKey {
  queueId: QueueId;
  shard: LogId;
  subscriber: SubscriberId;
  seq: Seq;
}

export interface EvacuatedRow extends EvacuatedKey {
  attempts: number;
  record: Uint8Array;
}
