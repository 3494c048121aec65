/**
 * Ids of logs, unique in the cluster. A shard has one log for each priority in use, and sequence numbers count within a log.
 *
 *     instance × 100 + index of the shard + 100,000 × lane        lane: the priority, 0 to 9; 10 more for delayed messages
 *
 * A delayed message has its id in a log of delayed messages, and is put into the log of its priority when it is due.
 * Forwarded messages keep their log id at the receiver. Messages that returned to their owner are in a log whose id is
 * 2,000,000 higher; they are delivered before those of the original log.
 */
import type { InstanceId, LogId, ShardNumber } from './ids.ts';

const shardsPerInstance = 100;
const laneStride = 100_000;
const delayedLanesStart = 10;
const returnedStride = 2_000_000;

/** The most urgent priority; 0 is the default. */
export const priorityMax = 9;

export function shardNumber(instance: InstanceId, index: number): ShardNumber {
  return instance * shardsPerInstance + index;
}

/** The log of a shard's messages of this priority. */
export function laneLogId(shard: ShardNumber, priority: number): LogId {
  return shard + priority * laneStride;
}

/** The log of the ids of messages that are put into `logId` when they are due. They keep these ids. */
export function delayedLogId(logId: LogId): LogId {
  return logId + delayedLanesStart * laneStride;
}

export function isDelayedLog(logId: LogId): boolean {
  return priorityOfLog(logId) >= delayedLanesStart;
}

export function priorityOfLog(logId: LogId): number {
  return Math.floor((logId % returnedStride) / laneStride);
}

/** The instance whose sessions enqueue to the log. */
export function owningInstance(logId: LogId): InstanceId {
  return Math.floor((logId % laneStride) / shardsPerInstance);
}

/** The log of the messages that were forwarded from `logId` and returned. */
export function returnedLogId(logId: LogId): LogId {
  return logId + returnedStride;
}

/** The log from which the messages were forwarded, for a log of returned messages; otherwise the log itself. */
export function originalLogId(logId: LogId): LogId {
  return logId % returnedStride;
}
