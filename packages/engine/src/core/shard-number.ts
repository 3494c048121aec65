/**
 * Numbers of shards, unique in the cluster. Each log of messages has one of its own, since sequence numbers count within
 * a log: a shard's messages of a higher priority are a log beside the ordinary one, and so are those that are delayed.
 *
 *     instance × 100 + index of the shard + 100,000 × lane        lane: priority 0 to 9, or 10 for delayed messages
 *
 * Messages that were forwarded lie in a log of the same number at their receiver. Those that came back from there lie
 * beside the log that they left, which they precede, in one whose number is 2,000,000 higher.
 */
const shardsPerInstance = 100;
const laneStride = 100_000;
const delayedLane = 10;
const returnedStride = 2_000_000;

/** The most urgent one; 0 is the ordinary one. */
export const priorityMax = 9;

export function shardNo(instance: number, index: number): number {
  return instance * shardsPerInstance + index;
}

/** The log of a shard's messages of this priority. */
export function laneNo(shard: number, priority: number): number {
  return shard + priority * laneStride;
}

/** What a shard's delayed messages are numbered in until they are due. They keep these ids. */
export function delayedNo(shard: number): number {
  return shard + delayedLane * laneStride;
}

export function isDelayed(shard: number): boolean {
  return priorityOf(shard) === delayedLane;
}

export function priorityOf(shard: number): number {
  return Math.floor((shard % returnedStride) / laneStride);
}

/** The instance whose sessions enqueue to it. */
export function ownerOf(shard: number): number {
  return Math.floor((shard % laneStride) / shardsPerInstance);
}

/** Where messages of a log are kept that were forwarded and came back. */
export function returnedNo(log: number): number {
  return log + returnedStride;
}

/** The log that those of this one left, if it holds messages that came back; else the log itself. */
export function logOf(no: number): number {
  return no % returnedStride;
}
