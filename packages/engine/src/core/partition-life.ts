/**
 * The partitions of one shard and their life: a free partition is assigned and *filling*; past its size the next one
 * is assigned and it is *full*; once all in it is terminal it is *drained*, and it goes back to the pool when the commit
 * that truncates it is durable. Pure: the caller brings free partitions and writes what this decides.
 *
 * Only the last partition fills, and they drain in order, because the shard's watermark only moves forward.
 */
import type { PartitionStats } from '../types.ts';
import { limits } from './limits.ts';

export interface Partition {
  readonly no: number;
  readonly firstSeq: number;
  /** End of what was written to it, exclusive. */
  endSeq: number;
  bytes: number;
  /** Its truncation is on the way; it is no longer of this shard once that is durable. */
  truncating: boolean;
  /** Its messages cannot be read, or not all of them: nothing is added to it any more. */
  damaged: boolean;
}

export class PartitionLife {
  readonly #partitions: Partition[] = [];
  readonly #messagesMax: number;

  /** `messagesMax`: messages after which a partition is full. */
  constructor(messagesMax: number = limits.partitionMessagesMax) {
    this.#messagesMax = messagesMax;
  }

  /** In order of sequence; the last one is filling. */
  get all(): readonly Partition[] {
    return this.#partitions;
  }

  /** Whether a run of this size needs a new partition: `assign` one before `append`. */
  mustRoll(count: number, bytes: number): boolean {
    const last = this.#partitions.at(-1);
    if (last === undefined || last.truncating || last.damaged) return true;
    const messages = last.endSeq - last.firstSeq;
    if (messages === 0) return false;
    return messages + count > this.#messagesMax || last.bytes + bytes > limits.partitionBytesMax;
  }

  assign(no: number, firstSeq: number): Partition {
    const last = this.#partitions.at(-1);
    if (last !== undefined && last.endSeq > firstSeq)
      throw new RangeError(`partition ${no} would start in another`);
    const partition = { no, firstSeq, endSeq: firstSeq, bytes: 0, truncating: false, damaged: false };
    this.#partitions.push(partition);
    return partition;
  }

  /** Counts a run into the filling partition, which must have room (`mustRoll`). */
  append(endSeq: number, bytes: number): Partition {
    const last = this.#partitions.at(-1);
    if (last === undefined || endSeq <= last.endSeq)
      throw new RangeError(`nothing to append up to ${endSeq}`);
    last.endSeq = endSeq;
    last.bytes += bytes;
    return last;
  }

  /** The partition that `seq` lies in: the last one that starts at or before it. */
  find(seq: number): Partition {
    const partition = this.locate(seq);
    if (partition === undefined) throw new RangeError(`sequence ${seq} lies in no partition`);
    return partition;
  }

  /** The same, or undefined if its partition is gone. */
  locate(seq: number): Partition | undefined {
    for (let i = this.#partitions.length - 1; i >= 0; i -= 1) {
      const partition = this.#partitions[i]!;
      if (partition.firstSeq <= seq) return partition;
    }
    return undefined;
  }

  /** Where the partition's numbers end for certain: where the next one starts, or unknown while it is filling. */
  rangeEnd(partition: Partition): number {
    const next = this.#partitions[this.#partitions.indexOf(partition) + 1];
    return next?.firstSeq ?? Number.MAX_SAFE_INTEGER;
  }

  /** Full partitions with nothing live below `watermark`, now marked as truncating. */
  takeDrained(watermark: number): Partition[] {
    const drained: Partition[] = [];
    for (let i = 0; i < this.#partitions.length - 1; i += 1) {
      const partition = this.#partitions[i]!;
      if (this.#partitions[i + 1]!.firstSeq > watermark) break;
      if (partition.truncating) continue;
      partition.truncating = true;
      drained.push(partition);
    }
    return drained;
  }

  get isDamaged(): boolean {
    return this.#partitions.some((partition) => partition.damaged);
  }

  /** Everything, marked as truncating: the queue was dropped. */
  takeAll(): Partition[] {
    const rest = this.#partitions.filter((partition) => !partition.truncating);
    for (const partition of rest) partition.truncating = true;
    return rest;
  }

  /** How full each is, and how much of it is terminal, as `terminalBetween` counts it. */
  stats(terminalBetween: (start: number, end: number) => number): PartitionStats[] {
    return this.#partitions.map((partition) => {
      const messages = partition.endSeq - partition.firstSeq;
      const terminal = terminalBetween(partition.firstSeq, partition.endSeq);
      return {
        partition: partition.no,
        state: this.stateOf(partition),
        fill: this.fillOf(partition),
        drained: messages === 0 ? 0 : terminal / messages,
      };
    });
  }

  stateOf(partition: Partition): PartitionStats['state'] {
    if (partition.damaged) return 'damaged';
    if (partition === this.#partitions.at(-1)) return 'filling';
    return partition.truncating ? 'drained' : 'full';
  }

  /** Share of its room in use, 0 to 1. */
  fillOf({ firstSeq, endSeq, bytes }: Partition): number {
    return Math.min(1, Math.max((endSeq - firstSeq) / this.#messagesMax, bytes / limits.partitionBytesMax));
  }

  /** The truncation of a partition is durable: it belongs to the pool again. */
  release(no: number): void {
    const index = this.#partitions.findIndex((partition) => partition.no === no);
    if (index >= 0) this.#partitions.splice(index, 1);
  }
}
