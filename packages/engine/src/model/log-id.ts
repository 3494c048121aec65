/**
 * Ids of logs, unique in the cluster. A shard has one log for each priority in use and one for delayed messages, and
 * sequence numbers count within a log.
 *
 *     instance × 100 + index of the shard + 100,000 × lane        lane: priority 0 to 9, or 10 for delayed messages
 *
 * Forwarded messages keep their log id at the receiver. Messages that returned to their owner are in a log whose id is
 * 2,000,000 higher; they are delivered before those of the original log.
 */
const shardsPerInstance = 100;
const laneStride = 100_000;
const delayedLaneIndex = 10;
const returnedStride = 2_000_000;

/** The most urgent priority; 0 is the default. */
export const priorityMax = 9;

export function shardNumber(instance: number, index: number): number {
  return instance * shardsPerInstance + index;
}

/** The log of a shard's messages of this priority. */
export function laneLogId(shard: number, priority: number): number {
  return shard + priority * laneStride;
}

/** The log that numbers a shard's delayed messages. They keep these ids when they are due. */
export function delayedLogId(shard: number): number {
  return shard + delayedLaneIndex * laneStride;
}

export function isDelayedLog(log: number): boolean {
  return priorityOfLog(log) === delayedLaneIndex;
}

export function priorityOfLog(log: number): number {
  return Math.floor((log % returnedStride) / laneStride);
}

/** The instance whose sessions enqueue to the log. */
export function owningInstance(log: number): number {
  return Math.floor((log % laneStride) / shardsPerInstance);
}

/** The log of the messages that were forwarded from `log` and returned. */
export function returnedLogId(log: number): number {
  return log + returnedStride;
}

/** The log from which the messages were forwarded, for a log of returned messages; otherwise the log itself. */
export function originalLogId(log: number): number {
  return log % returnedStride;
}
