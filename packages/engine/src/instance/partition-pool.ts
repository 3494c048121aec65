/**
 * The pool of partitions of an instance, as the session thread sees it, and the changes to it that the next group
 * carries. A change that failed with its group is carried by the next one.
 */

import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { PartitionLife } from '../core/partition-life.ts';
import type { AssignEntry, PoolChanges } from '../storage/group-message.ts';

/** More than a group of the largest size can fill: a few for each shard it touches. */
const partitionsPerGroupMax = 4_096;

export class PartitionPool {
  readonly #free: number[];
  #lastNo: number;
  /** The shard's partitions that a truncated one is still listed in. */
  readonly #owners = new Map<number, PartitionLife>();
  #changes: PoolChanges = { create: [], assign: [], truncate: [] };

  constructor(free: readonly number[], used: readonly number[]) {
    this.#free = [...free];
    this.#lastNo = Math.max(0, ...free, ...used);
  }

  /** False when so few partitions are left that one group might not find what it needs. */
  get hasRoom(): boolean {
    return this.#free.length + limits.partitionsMax - this.#lastNo > partitionsPerGroupMax;
  }

  /** Whether there is something that only a group can make durable. */
  get pending(): boolean {
    const { create, assign, truncate } = this.#changes;
    return create.length + assign.length + truncate.length > 0;
  }

  /** Gives a shard a free partition, and orders new ones before they run out. */
  assign(owner: Omit<AssignEntry, 'partition'>): number {
    const partition = this.#free.shift() ?? this.#create();
    this.#changes.assign.push({ partition, ...owner });
    while (this.#free.length < limits.partitionsFreeMin && this.#lastNo < limits.partitionsMax) {
      this.#free.push(this.#create());
    }
    return partition;
  }

  #create(): number {
    if (this.#lastNo >= limits.partitionsMax) {
      throw new QueueError('BACKLOG_FULL', { details: { partitionsMax: limits.partitionsMax } });
    }
    this.#lastNo += 1;
    this.#changes.create.push(this.#lastNo);
    return this.#lastNo;
  }

  /** Orders a partition to be emptied; `owner` lists it until that is durable. */
  truncate(partition: number, owner?: PartitionLife): void {
    if (owner !== undefined) this.#owners.set(partition, owner);
    this.#changes.truncate.push(partition);
  }

  /** The changes so far, for the group that is being closed. */
  take(): PoolChanges {
    const changes = this.#changes;
    this.#changes = { create: [], assign: [], truncate: [] };
    return changes;
  }

  /** `unusable` ones are too damaged to be emptied: nobody gets them again. */
  applied(changes: PoolChanges, unusable: readonly number[]): void {
    for (const partition of changes.truncate) {
      this.#owners.get(partition)?.release(partition);
      this.#owners.delete(partition);
      if (!unusable.includes(partition)) this.#free.push(partition);
    }
  }

  failed(changes: PoolChanges): void {
    this.#changes = {
      create: [...changes.create, ...this.#changes.create],
      assign: [...changes.assign, ...this.#changes.assign],
      truncate: [...changes.truncate, ...this.#changes.truncate],
    };
  }
}
