/**
 * Partitions: the life of one, the pool of an instance's partitions, and the list of a log's partitions. Pure: changes are
 * decided here and made durable by the group that carries them.
 */
import { QueueError } from '../api/errors.ts';
import type { PartitionStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { PartitionAssignment, PoolChanges } from './group-message.ts';
import type { PartitionId, Seq } from './ids.ts';
import { InvariantViolation, stopOn, type ViolationListener } from './invariant.ts';
import { TransitionTable } from './transition-table.ts';

/**
 *     free        in the pool, empty
 *     filling     the last partition of a log: messages are added
 *     full        the log has a newer partition
 *     truncating  all in it is terminal, or its queue was dropped; listed here until its truncation is applied to the tables
 *     damaged     its messages cannot be read, or not all of them; nothing is added
 */
export type PartitionState = 'free' | 'filling' | 'full' | 'truncating' | 'damaged';

export type PartitionCommand =
  | 'assign'
  | 'append'
  /** The next partition of its log is assigned. */
  | 'seal'
  | 'damage'
  | 'truncate'
  /** Its truncation is applied. */
  | 'release';

export const partitionLife = new TransitionTable<PartitionState, PartitionCommand>('a partition', {
  free: { assign: 'filling' },
  filling: { append: 'filling', seal: 'full', damage: 'damaged', truncate: 'truncating' },
  full: { damage: 'damaged', truncate: 'truncating' },
  // A read that began before can find damage; the partition is truncated all the same.
  truncating: { seal: 'truncating', damage: 'truncating', release: 'free' },
  damaged: { seal: 'damaged', damage: 'damaged', truncate: 'truncating' },
});

export class Partition {
  readonly id: PartitionId;
  readonly firstSeq: Seq;
  /** End of the messages in it, exclusive. */
  endSeq: Seq;
  bytes = 0;
  /** When all in it was found consumed, by the monotonic clock, ms; until then 0. */
  drainedAtMs = 0;
  #state: PartitionState = 'free';
  readonly #onInvariantBroken: ViolationListener | undefined;

  constructor(id: PartitionId, firstSeq: Seq, onInvariantBroken?: ViolationListener) {
    this.id = id;
    this.firstSeq = firstSeq;
    this.endSeq = firstSeq;
    this.#onInvariantBroken = onInvariantBroken;
    this.apply('assign');
  }

  get state(): PartitionState {
    return this.#state;
  }

  get damaged(): boolean {
    return this.#state === 'damaged';
  }

  get truncating(): boolean {
    return this.#state === 'truncating';
  }

  /** A command that is illegal in its state stops the instance. */
  apply(command: PartitionCommand): void {
    const next = partitionLife.transitions[this.#state][command];
    if (next === undefined)
      stopOn(
        new InvariantViolation(`partition ${this.id} is ${this.#state} and cannot ${command}`),
        this.#onInvariantBroken,
      );
    this.#state = next;
  }
}

export interface LogPartitionsOptions {
  /** Messages after which a partition is full. */
  messagesMax?: number;
  /** How long a drained one is kept. */
  retentionMs?: number;
  onInvariantBroken?: ViolationListener;
}

/** The partitions of one log. Only the last one is filling, and they drain in order, because its watermark only moves forward. */
export class LogPartitions {
  readonly #partitions: Partition[] = [];
  readonly #messagesMax: number;
  readonly #retentionMs: number;
  readonly #onInvariantBroken: ViolationListener | undefined;
  /** So many of the first ones were found drained. */
  #drainedCount = 0;
  /** When the first retained drained partition may be truncated, by the monotonic clock; undefined if there is none. */
  retainedUntilMs: number | undefined;
  /** Called when the truncation of a partition is applied. */
  onRemoved: ((partition: Partition) => void) | undefined;

  constructor({
    messagesMax = limits.partitionMessagesMax,
    retentionMs = 0,
    onInvariantBroken,
  }: LogPartitionsOptions = {}) {
    this.#messagesMax = messagesMax;
    this.#retentionMs = retentionMs;
    this.#onInvariantBroken = onInvariantBroken;
  }

  #stop(broken: string): never {
    stopOn(new InvariantViolation(broken), this.#onInvariantBroken);
  }

  /** Consumed messages can be read until their partition is truncated. */
  get keepsConsumed(): boolean {
    return this.#retentionMs > 0;
  }

  /** All partitions, ordered by sequence number. */
  get all(): readonly Partition[] {
    return this.#partitions;
  }

  /** Whether there is an old partition. The last two are not old: the last is filling, and the one before it was until recently. */
  get hasOld(): boolean {
    return this.#partitions.length >= 3;
  }

  /** Whether a run of this size needs a new partition: call `assign` before `append` then. */
  needsNewPartition(count: number, bytes: number): boolean {
    const last = this.#partitions.at(-1);
    if (last === undefined || last.state !== 'filling') return true;
    const messages = last.endSeq - last.firstSeq;
    if (messages === 0) return false; // an empty one takes a run of any size
    return messages + count > this.#messagesMax || last.bytes + bytes > limits.partitionBytesMax;
  }

  /** Adds a free partition, which becomes the filling one. */
  assign(id: PartitionId, firstSeq: Seq): Partition {
    const last = this.#partitions.at(-1);
    if (last !== undefined && last.endSeq > firstSeq)
      this.#stop(`partition ${id} would start inside partition ${last.id}`);
    last?.apply('seal');
    const partition = new Partition(id, firstSeq, this.#onInvariantBroken);
    this.#partitions.push(partition);
    return partition;
  }

  /** Counts messages up to `endSeq` into the filling partition. It must have capacity: see `needsNewPartition`. */
  append(endSeq: Seq, bytes: number): Partition {
    const last = this.#partitions.at(-1);
    if (last === undefined || endSeq <= last.endSeq)
      this.#stop(`no partition takes messages up to ${endSeq}`);
    last.apply('append');
    last.endSeq = endSeq;
    last.bytes += bytes;
    return last;
  }

  /** The partition that contains `seq`: the last one that starts at or before it. */
  partitionOf(seq: Seq): Partition {
    const partition = this.findPartition(seq);
    if (partition === undefined) this.#stop(`no partition contains sequence number ${seq}`);
    return partition;
  }

  /** The same, or undefined if the partition was truncated. */
  findPartition(seq: Seq): Partition | undefined {
    return this.#partitions[this.#indexOf(seq)];
  }

  /** Index of the last partition that starts at or before `seq`; -1 if there is none. O(log partitions): called for each range. */
  #indexOf(seq: Seq): number {
    let low = 0;
    let high = this.#partitions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#partitions[middle]!.firstSeq <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Exclusive end of the partition's sequence numbers, which is the start of the next partition. Unbounded for the last one. */
  endSeqOf(partition: Partition): Seq {
    // An empty partition starts where the one behind it does.
    const index = this.#partitions.lastIndexOf(partition, this.#indexOf(partition.firstSeq));
    const next = this.#partitions[index + 1];
    return next?.firstSeq ?? Number.MAX_SAFE_INTEGER;
  }

  /**
   * Starts truncating the partitions before the last one with nothing live below `watermark`, once they were kept for the
   * retention; returns them. `nowMs`: by the monotonic clock.
   */
  beginTruncatingDrained(watermark: Seq, nowMs: number): Partition[] {
    while (this.#drainedCount < this.#partitions.length - 1) {
      if (this.#partitions[this.#drainedCount + 1]!.firstSeq > watermark) break;
      this.#partitions[this.#drainedCount]!.drainedAtMs = nowMs;
      this.#drainedCount += 1;
    }
    const truncated: Partition[] = [];
    this.retainedUntilMs = undefined;
    for (let i = 0; i < this.#drainedCount; i += 1) {
      const partition = this.#partitions[i]!;
      if (partition.truncating) continue;
      const untilMs = partition.drainedAtMs + this.#retentionMs;
      if (nowMs < untilMs) {
        this.retainedUntilMs = untilMs;
        break; // those behind it were drained later
      }
      partition.apply('truncate');
      truncated.push(partition);
    }
    return truncated;
  }

  get hasDamage(): boolean {
    return this.#partitions.some((partition) => partition.damaged);
  }

  /** Starts truncating all partitions, because the queue was dropped; returns those that were not truncating yet. */
  beginTruncatingAll(): Partition[] {
    const rest = this.#partitions.filter((partition) => !partition.truncating);
    for (const partition of rest) partition.apply('truncate');
    return rest;
  }

  /** How full each partition is, and how much of it is terminal, as `terminalBetween` counts it. */
  stats(terminalBetween: (start: Seq, end: Seq) => number): PartitionStats[] {
    return this.#partitions.map((partition) => {
      const messages = partition.endSeq - partition.firstSeq;
      const terminal = terminalBetween(partition.firstSeq, partition.endSeq);
      return {
        partition: partition.id,
        state: this.stateOf(partition),
        fill: this.fillOf(partition),
        drained: messages === 0 ? 0 : terminal / messages,
      };
    });
  }

  /** The state as statistics show it. */
  stateOf({ state }: Partition): PartitionStats['state'] {
    return state === 'truncating' || state === 'free' ? 'drained' : state;
  }

  /** Share of its capacity in use, 0 to 1. */
  fillOf({ firstSeq, endSeq, bytes }: Partition): number {
    return Math.min(1, Math.max((endSeq - firstSeq) / this.#messagesMax, bytes / limits.partitionBytesMax));
  }

  /** The truncation of a partition is applied: it returns to the pool. */
  remove(id: PartitionId): void {
    const index = this.#partitions.findIndex((partition) => partition.id === id);
    if (index < 0) return;
    const partition = this.#partitions[index]!;
    partition.apply('release');
    this.onRemoved?.(partition);
    this.#partitions.splice(index, 1);
    if (index < this.#drainedCount) this.#drainedCount -= 1;
  }
}

export function poolChangeCount({ create, assign, truncate }: PoolChanges): number {
  return create.length + assign.length + truncate.length;
}

/** More partitions than the largest group can fill, a few for each log that it touches. */
const partitionsPerGroupMax = 4_096;

/**
 * The pool as the session thread sees it, and the changes to it that the next group makes durable. If that group fails, the
 * one after it repeats them.
 */
export class PartitionPool {
  readonly #freePartitions: PartitionId[];
  #lastPartitionId: PartitionId;
  /** The list of each partition that is being truncated; the partition is removed from it once the truncation is applied. */
  readonly #owners = new Map<PartitionId, LogPartitions>();
  #changes: PoolChanges = { create: [], assign: [], truncate: [] };

  constructor(freePartitions: readonly PartitionId[], usedPartitions: readonly PartitionId[]) {
    this.#freePartitions = [...freePartitions];
    this.#lastPartitionId = Math.max(0, ...freePartitions, ...usedPartitions);
  }

  /** False when so few partitions are left that one group might not find what it needs. */
  get hasCapacity(): boolean {
    return this.#freePartitions.length + limits.partitionsMax - this.#lastPartitionId > partitionsPerGroupMax;
  }

  /** Whether there are changes that no group carries yet. */
  get hasPendingChanges(): boolean {
    return poolChangeCount(this.#changes) > 0;
  }

  /** Assigns a free partition to a log, and has new ones created before they run out. */
  assign(owner: Omit<PartitionAssignment, 'partition'>): PartitionId {
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

  #create(): PartitionId {
    if (this.#lastPartitionId >= limits.partitionsMax) {
      throw new QueueError('BACKLOG_FULL', { details: { partitionsMax: limits.partitionsMax } });
    }
    this.#lastPartitionId += 1;
    this.#changes.create.push(this.#lastPartitionId);
    return this.#lastPartitionId;
  }

  /** Has a partition emptied; `owner` lists it until that is applied. */
  truncate(partition: PartitionId, owner?: LogPartitions): void {
    if (owner !== undefined) this.#owners.set(partition, owner);
    this.#changes.truncate.push(partition);
  }

  /** Returns the changes since the last group, for the group that is closing. */
  takeChanges(): PoolChanges {
    const changes = this.#changes;
    this.#changes = { create: [], assign: [], truncate: [] };
    return changes;
  }

  /** The tables have the changes. Partitions in `unusable` are too damaged to be emptied, and are never assigned again. */
  onApplied(changes: PoolChanges, unusable: readonly PartitionId[]): void {
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
