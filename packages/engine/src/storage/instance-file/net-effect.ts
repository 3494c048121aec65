/**
 * What many groups together do to partitions: the blocks of messages that some of them add, and what others of them consume. A block in
 * which they consume everything is written without its messages, and consumption is one row for each partition and subscriber instead
 * of one for each group. So what consumers keep up with never reaches a table; it was in the redo log, which is what counted.
 *
 * What is left out is a function of the groups and the file alone, never of what runs at the moment: a recovery that applies the same
 * groups may leave out less or more, and finds the same messages.
 */
import {
  decodeRanges,
  encodeRanges,
  intersectRanges,
  mergeRanges,
  type SeqRange,
} from '../../model/consumption.ts';
import type { BlockEntry } from '../../model/group-message.ts';
import type { GroupNumber, PartitionId, Seq, SubscriberId } from '../../model/ids.ts';

export type AppliedBlock = Pick<BlockEntry, 'partition' | 'firstSeq' | 'count'>;

/** Where the result is written to. */
export interface NetEffectTarget {
  /** From which number of it the encoded ranges of a partition count. */
  firstSeqOf(partition: PartitionId): Seq;
  /** The durable subscribers of its log, each with the first number that it gets; none for a queue. */
  subscriptionsOf(partition: PartitionId): { subscriber: SubscriberId; firstSeq: Seq }[];
  /** `body`: empty for messages that are left out. */
  writeBlock(block: AppliedBlock, groupNumber: GroupNumber, body: Buffer): void;
  writeConsumption(
    key: { partition: PartitionId; subscriber: SubscriberId },
    groupNumber: GroupNumber,
    ranges: Uint8Array,
  ): void;
}

interface PendingBlock {
  block: BlockEntry;
  groupNumber: GroupNumber;
  body: Buffer;
}

interface PendingPartition {
  blocks: PendingBlock[];
  /** As they were encoded, in the order of their groups. */
  consumed: Map<SubscriberId, Uint8Array[]>;
}

const leftOut = Buffer.alloc(0);
/** The one consumer of a queue. */
const forEveryone: SubscriberId = 0;

export class NetEffect {
  readonly #target: NetEffectTarget;
  readonly #partitions = new Map<PartitionId, PendingPartition>();
  #lastGroup: GroupNumber = 0;
  /** Messages that were added, and those of them that were written, since `clear`. */
  messages = 0;
  storedMessages = 0;

  constructor(target: NetEffectTarget) {
    this.#target = target;
  }

  addBlock(block: BlockEntry, groupNumber: GroupNumber, body: Buffer): void {
    this.#lastGroup = groupNumber;
    this.messages += block.count;
    this.#pendingOf(block.partition).blocks.push({ block, groupNumber, body });
  }

  addConsumption(
    { partition, subscriber }: { partition: PartitionId; subscriber: SubscriberId },
    groupNumber: GroupNumber,
    ranges: Uint8Array,
  ): void {
    this.#lastGroup = groupNumber;
    const { consumed } = this.#pendingOf(partition);
    const ofSubscriber = consumed.get(subscriber);
    if (ofSubscriber === undefined) consumed.set(subscriber, [ranges]);
    else ofSubscriber.push(ranges);
  }

  #pendingOf(partition: PartitionId): PendingPartition {
    let pending = this.#partitions.get(partition);
    if (pending === undefined) {
      pending = { blocks: [], consumed: new Map() };
      this.#partitions.set(partition, pending);
    }
    return pending;
  }

  /** The partition is emptied: nothing of what it would have got is written. */
  onTruncated(partition: PartitionId): void {
    this.#partitions.delete(partition);
  }

  /** Forgets everything: the groups are applied, or could not be. */
  clear(): void {
    this.messages = 0;
    this.storedMessages = 0;
    this.#partitions.clear();
  }

  /** Writes everything that was added. */
  write(): void {
    for (const [partition, { blocks, consumed }] of this.#partitions) {
      const rangesOf = new Map<SubscriberId, SeqRange[]>();
      for (const [subscriber, encoded] of consumed)
        rangesOf.set(subscriber, mergeRanges(encoded.flatMap((ranges) => decodeRanges(ranges, 0))));
      this.#writeBlocks(partition, blocks, rangesOf);
      for (const [subscriber, ranges] of rangesOf) {
        const bytes = Uint8Array.from(encodeRanges(ranges, 0));
        this.#target.writeConsumption({ partition, subscriber }, this.#lastGroup, bytes);
      }
    }
    this.#partitions.clear();
  }

  /** What is terminal for everyone: sorted, counted from `base`, the partition's first number. */
  #terminalOf(
    partition: PartitionId,
    base: Seq,
    rangesOf: ReadonlyMap<SubscriberId, readonly SeqRange[]>,
  ): readonly SeqRange[] {
    const forAll = rangesOf.get(forEveryone) ?? [];
    const [first, ...others] = this.#target.subscriptionsOf(partition).map(({ subscriber, firstSeq }) => {
      const before: SeqRange[] = firstSeq > base ? [[0, firstSeq - base]] : [];
      return mergeRanges([...before, ...forAll, ...(rangesOf.get(subscriber) ?? [])]);
    });
    return first === undefined ? forAll : others.reduce(intersectRanges, first);
  }

  #writeBlocks(
    partition: PartitionId,
    blocks: readonly PendingBlock[],
    rangesOf: ReadonlyMap<SubscriberId, readonly SeqRange[]>,
  ): void {
    if (blocks.length === 0) return;
    const base = this.#target.firstSeqOf(partition);
    const terminal = rangesOf.size === 0 ? [] : this.#terminalOf(partition, base, rangesOf);
    let at = 0;
    /** The blocks left out since the last one that was written, as one. */
    let gap: { block: AppliedBlock; groupNumber: GroupNumber } | undefined;
    const writeGap = () => {
      if (gap !== undefined) this.#target.writeBlock(gap.block, gap.groupNumber, leftOut);
      gap = undefined;
    };
    // In the order of their numbers, as the ranges are.
    for (const { block, groupNumber, body } of blocks) {
      const { firstSeq, count, keepsConsumed } = block;
      while (at < terminal.length && terminal[at]![1] + base <= firstSeq) at += 1;
      const range = terminal[at];
      const isTerminal =
        range !== undefined && range[0] + base <= firstSeq && firstSeq + count <= range[1] + base;
      if (!isTerminal || keepsConsumed) {
        writeGap();
        this.storedMessages += count;
        this.#target.writeBlock(block, groupNumber, body);
        continue;
      }
      const end = gap === undefined ? undefined : gap.block.firstSeq + gap.block.count;
      if (end !== firstSeq) {
        writeGap();
        gap = { block: { partition, firstSeq, count }, groupNumber };
      } else gap = { block: { ...gap!.block, count: gap!.block.count + count }, groupNumber };
    }
    writeGap();
  }
}
