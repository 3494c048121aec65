/**
 * Brings messages back from their tables: ahead of the consumers where the cache did not keep them, and for browsing.
 * Reads are in bulk and in a thread of their own, at most one under way for a shard.
 */
import type { Consumption } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Partition } from '../core/partition-life.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { DelayedPlace, DelayedRow, DueMessages } from '../storage/delayed-table.ts';
import type { ReadBlock } from '../storage/group-message.ts';
import type { ChunkPlace } from '../storage/payload-table.ts';
import type { StragglerRow } from '../storage/straggler-table.ts';
import type { CachedRun } from './message-cache.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import { ReaderThread } from './storage-threads.ts';

export class BacklogReader {
  readonly #thread: ReaderThread;
  readonly #waits: WaitRecorder;
  readonly #onRead: (reader: ShardReader, error: QueueError | undefined) => void;
  readonly #reading = new Map<ShardReader, Promise<void>>();

  /**
   * `onRead` is told of each read that ended, and of the error if it failed: the messages are still on disk then. After
   * `PARTITION_DAMAGED` they are not read again, and the reader stops in front of them.
   */
  constructor(
    path: string,
    waits: WaitRecorder,
    onRead: (reader: ShardReader, error: QueueError | undefined) => void,
  ) {
    this.#thread = new ReaderThread(path);
    this.#waits = waits;
    this.#onRead = onRead;
  }

  /** Starts the next read of a reader if its window runs low. */
  ahead(reader: ShardReader): void {
    const fromSeq = reader.nextRead();
    if (fromSeq === undefined || this.#reading.has(reader) || this.damageAhead(reader)) return;
    const read = this.#load(reader, fromSeq);
    this.#reading.set(reader, read);
    read.then(
      () => this.#ended(reader, this.damageAhead(reader)),
      (error: unknown) => this.#ended(reader, toQueueError(error)),
    );
  }

  /** Why the reader goes no further, although its shard holds more; undefined if nothing is in its way. */
  damageAhead(reader: ShardReader): QueueError | undefined {
    const fromSeq = reader.nextRead();
    if (fromSeq === undefined) return undefined;
    const { no, damaged } = reader.shard.partitions.find(fromSeq);
    return damaged ? partitionDamaged(reader.shard.no, no, fromSeq) : undefined;
  }

  #ended(reader: ShardReader, error: QueueError | undefined): void {
    this.#reading.delete(reader);
    this.#onRead(reader, error);
  }

  /** The first read under way for one of these readers, if there is one; rejects if it fails. */
  under(readers: readonly ShardReader[]): Promise<void> | undefined {
    for (const reader of readers) {
      const read = this.#reading.get(reader);
      if (read !== undefined) return read;
    }
    return undefined;
  }

  async #load(reader: ShardReader, fromSeq: number): Promise<void> {
    const startedAt = performance.now();
    const { runs, readEnd } = await this.read(reader, fromSeq);
    this.#waits.record('backlog read', performance.now() - startedAt);
    reader.load(runs, readEnd);
  }

  /** Messages of a shard from a number on, as many as one bulk read gives; `readEnd` is how far it can vouch for. */
  async read(
    { shard, consumption }: ShardReader,
    fromSeq: number,
  ): Promise<{ runs: CachedRun[]; readEnd: number }> {
    const committedEnd = shard.committedEnd;
    const partition = shard.partitions.find(fromSeq);
    const rangeEnd = Math.min(shard.partitions.rangeEnd(partition), committedEnd);
    const { blocks, more } = await this.#thread
      .read({ kind: 'blocks', partition: partition.no, fromSeq, bytesMax: limits.backlogReadBytes })
      .catch((error: unknown) => {
        if (toQueueError(error).code !== 'STORAGE_CORRUPT') throw error;
        partition.damaged = true;
        return { blocks: [], more: true };
      });
    if (isGone(shard, partition)) {
      return { runs: [], readEnd: Math.min(consumption.watermark, shard.committedEnd) };
    }
    const runs = blocks.map(toRun);
    const whole = withoutHole(runs, { fromSeq, endSeq: more ? undefined : rangeEnd, consumption });
    if (whole.holed) partition.damaged = true;
    return whole;
  }

  /**
   * The same, but only blocks that may have a message of the correlation id with this mark, found by the partition's index. If
   * that is damaged, the messages are read as they lie.
   */
  async search(
    reader: ShardReader,
    fromSeq: number,
    mark: number,
  ): Promise<{ runs: CachedRun[]; readEnd: number }> {
    const { shard, consumption } = reader;
    const partition = shard.partitions.find(fromSeq);
    const rangeEnd = Math.min(shard.partitions.rangeEnd(partition), shard.committedEnd);
    const found = await this.#thread
      .read({ kind: 'search', partition: partition.no, fromSeq, mark, bytesMax: limits.backlogReadBytes })
      .catch((error: unknown) => {
        if (toQueueError(error).code !== 'STORAGE_CORRUPT' && !isGone(shard, partition)) throw error;
      });
    if (isGone(shard, partition))
      return { runs: [], readEnd: Math.min(consumption.watermark, shard.committedEnd) };
    if (found === undefined) return this.read(reader, fromSeq);
    const runs = found.blocks.map(toRun);
    const last = runs.at(-1);
    return { runs, readEnd: found.more && last !== undefined ? last.firstSeq + last.count : rangeEnd };
  }

  /** Where reading goes on if `seq` lies in a damaged partition: a look at the rest is worth more than none. */
  endOfDamage({ shard }: ShardReader, seq: number): number | undefined {
    if (!shard.persistent) return undefined;
    const partition = shard.partitions.find(seq);
    return partition.damaged ? Math.min(shard.partitions.rangeEnd(partition), shard.committedEnd) : undefined;
  }

  /** Messages of a reader that were moved aside, out of their partitions. */
  stragglersOf({ shard, subscriber }: ShardReader): Promise<StragglerRow[]> {
    return this.#thread.read({ kind: 'stragglers', queueId: shard.queueId, shard: shard.no, subscriber });
  }

  /** Delayed messages of a queue behind a place, the first due first; `more`: there are others behind them. */
  delayedOf(queueId: number, after: DelayedPlace): Promise<{ rows: DelayedRow[]; more: boolean }> {
    return this.#thread.read({ kind: 'delayed', queueId, after, bytesMax: limits.backlogReadBytes });
  }

  /** One chunk of a streamed payload; undefined if it is not there. Throws `STORAGE_CORRUPT`. */
  async chunk(place: ChunkPlace): Promise<Uint8Array | undefined> {
    return (await this.#thread.read({ kind: 'chunk', ...place })).body;
  }

  /** Delayed messages that are due. */
  due(nowMs: number): Promise<DueMessages> {
    return this.#thread.read({ kind: 'due', nowMs, bytesMax: limits.backlogReadBytes });
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}

/** All of it was consumed meanwhile, and its table may hold another shard's messages by now. */
function isGone({ partitions }: Shard, partition: Partition): boolean {
  return partition.truncating || !partitions.all.includes(partition);
}

/**
 * The runs up to where a number is missing that is not terminal. There is a message for every other one, so what is not
 * there was lost with a part of its table.
 */
function withoutHole(
  runs: CachedRun[],
  { fromSeq, endSeq, consumption }: { fromSeq: number; endSeq: number | undefined; consumption: Consumption },
): { runs: CachedRun[]; readEnd: number; holed: boolean } {
  const isTerminal = (start: number, end: number) =>
    end <= start || consumption.countBetween(start, end) === end - start;
  let readEnd = fromSeq;
  for (const [index, { firstSeq, count }] of runs.entries()) {
    if (!isTerminal(readEnd, firstSeq)) return { runs: runs.slice(0, index), readEnd, holed: true };
    readEnd = firstSeq + count;
  }
  if (endSeq === undefined) return { runs, readEnd, holed: false };
  const holed = !isTerminal(readEnd, endSeq);
  return { runs, readEnd: holed ? readEnd : Math.max(readEnd, endSeq), holed };
}

function toRun({ firstSeq, count, body }: ReadBlock): CachedRun {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return { firstSeq, count, buffer, start: 0, end: buffer.byteLength, readBack: true, kept: 0 };
}

function toQueueError(error: unknown): QueueError {
  return error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error });
}

function partitionDamaged(shard: number, partition: number, fromSeq: number): QueueError {
  return new QueueError('PARTITION_DAMAGED', {
    sentence: `Partition ${partition} is damaged: shard ${shard} hands out nothing from message ${shard}.${fromSeq} on; other shards and queues are served`,
    details: { shard, partition, fromSeq },
  });
}
