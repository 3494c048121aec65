/**
 * The pool of an instance's partitions as the session thread sees it, and the changes to it that the next group makes
 * durable. If that group fails, the one after it repeats them.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { PartitionAssignment, PoolChanges } from '../model/group-message.ts';
import type { PartitionId } from '../model/ids.ts';
import type { LogPartitions } from '../model/log-partitions.ts';

/** More partitions than the largest group can fill, a few for each log that it touches. */
const partitionsPerGroupMax = 4_096;

export class PartitionPool {
  readonly #freePartitions: number[];
  #lastPartitionId: number;
  /** By partition that is being truncated: the log's list that it is removed from once that is durable. */
  readonly #owners = new Map<number, LogPartitions>();
  #changes: PoolChanges = { create: [], assign: [], truncate: [] };

  constructor(freePartitions: readonly number[], usedPartitions: readonly number[]) {
    this.#freePartitions = [...freePartitions];
    this.#lastPartitionId = Math.max(0, ...freePartitions, ...usedPartitions);
  }

  /** False when so few partitions are left that one group might not find what it needs. */
  get hasCapacity(): boolean {
    return this.#freePartitions.length + limits.partitionsMax - this.#lastPartitionId > partitionsPerGroupMax;
  }

  /** Whether there are changes that no group carries yet. */
  get hasPendingChanges(): boolean {
    const { create, assign, truncate } = this.#changes;
    return create.length + assign.length + truncate.length > 0;
  }

  /** Assigns a free partition to a log, and has new ones created before they run out. */
  assign(owner: Omit<PartitionAssignment, 'partition'>): number {
    const partition = this.#freePartitions.shift() ?? this.#create();
    this.#changes.assign.push({ partition, ...owner });
    while (
      this.#freePartitions.length < limits.partitionsFreeMin &&
      this.#lastPartitionId < limits.partitionsMax
    ) {
      this.#freePartitions.push(this.#create());
    }
    return partition;
  }

  #create(): number {
    if (this.#lastPartitionId >= limits.partitionsMax) {
      throw new QueueError('BACKLOG_FULL', { details: { partitionsMax: limits.partitionsMax } });
    }
    this.#lastPartitionId += 1;
    this.#changes.create.push(this.#lastPartitionId);
    return this.#lastPartitionId;
  }

  /** Has a partition emptied; `owner` lists it until that is durable. */
  truncate(partition: PartitionId, owner?: LogPartitions): void {
    if (owner !== undefined) this.#owners.set(partition, owner);
    this.#changes.truncate.push(partition);
  }

  /** The changes since the last group, for the one that closes now. */
  takeChanges(): PoolChanges {
    const changes = this.#changes;
    this.#changes = { create: [], assign: [], truncate: [] };
    return changes;
  }

  /** Partitions in `unusable` are too damaged to be emptied, and are never assigned again. */
  onDurable(changes: PoolChanges, unusable: readonly number[]): void {
    for (const partition of changes.truncate) {
      this.#owners.get(partition)?.remove(partition);
      this.#owners.delete(partition);
      if (!unusable.includes(partition)) this.#freePartitions.push(partition);
    }
  }

  onFailed(changes: PoolChanges): void {
    this.#changes = {
      create: [...changes.create, ...this.#changes.create],
      assign: [...changes.assign, ...this.#changes.assign],
      truncate: [...changes.truncate, ...this.#changes.truncate],
    };
  }
}
