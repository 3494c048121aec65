/**
 * Brings messages back from partitions: ahead of the consumers where the cache did not keep them, and for browsing.
 * Reads are in bulk and in a thread of their own, at most one under way for a shard.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { DueMessages } from '../storage/delayed-table.ts';
import type { ReadBlock } from '../storage/group-message.ts';
import { readId, readRecord, recordEnd } from '../storage/message-record.ts';
import type { BrowsedMessage } from '../types.ts';
import type { CachedRun } from './message-cache.ts';
import type { ShardReader } from './shard-reader.ts';
import { ReaderThread } from './storage-threads.ts';

export class BacklogReader {
  readonly #thread: ReaderThread;
  readonly #waits: WaitRecorder;
  readonly #onRead: (reader: ShardReader, error: QueueError | undefined) => void;
  readonly #reading = new Map<ShardReader, Promise<void>>();

  /** `onRead` is told of each read that ended, and of the error if it failed: the messages are still on disk then. */
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
    if (fromSeq === undefined || this.#reading.has(reader)) return;
    const read = this.#load(reader, fromSeq);
    this.#reading.set(reader, read);
    read.then(
      () => this.#ended(reader, undefined),
      (error: unknown) => this.#ended(reader, toQueueError(error)),
    );
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
    const { runs, readEnd } = await this.#read(reader, fromSeq);
    this.#waits.record('backlog read', performance.now() - startedAt);
    reader.load(runs, readEnd);
  }

  async #read(
    { shard, consumption }: ShardReader,
    fromSeq: number,
  ): Promise<{ runs: CachedRun[]; readEnd: number }> {
    const committedEnd = shard.committedEnd;
    const partition = shard.partitions.find(fromSeq);
    const rangeEnd = Math.min(shard.partitions.rangeEnd(partition), committedEnd);
    const blocks = await this.#thread.read({
      kind: 'blocks',
      partition: partition.no,
      fromSeq,
      bytesMax: limits.backlogReadBytes,
    });
    if (partition.truncating || !shard.partitions.all.includes(partition)) {
      // All of it was consumed meanwhile, and the table may hold another shard's messages by now.
      return { runs: [], readEnd: Math.min(consumption.watermark, shard.committedEnd) };
    }
    const runs = blocks.map(toRun);
    const bytes = runs.reduce((sum, run) => sum + run.end, 0);
    const last = runs.at(-1);
    const readEnd =
      last !== undefined && bytes >= limits.backlogReadBytes ? last.firstSeq + last.count : rangeEnd;
    return { runs, readEnd };
  }

  /** A page of what is committed and not consumed; `after` is the `next` of the page before. */
  async browse(
    readers: readonly ShardReader[],
    { limit, after }: { limit: number; after: string | undefined },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    let [shardNo, afterSeq] = parseCursor(after);
    const messages: BrowsedMessage[] = [];
    let next: string | null = null;
    for (const reader of readers.toSorted((a, b) => a.shard.no - b.shard.no)) {
      const { shard, consumption } = reader;
      if (shard.no < shardNo) continue;
      if (shard.no > shardNo) afterSeq = 0;
      shardNo = shard.no;
      let seq = Math.max(afterSeq + 1, consumption.watermark);
      while (seq < shard.committedEnd) {
        const { runs, readEnd } = shard.persistent
          ? await this.#read(reader, seq)
          : { runs: reader.liveRuns, readEnd: shard.committedEnd };
        for (const [place, message] of liveMessages(reader, runs, seq)) {
          if (messages.length === limit) return { messages, next };
          messages.push(message);
          next = place;
        }
        seq = Math.max(readEnd, seq + 1, consumption.watermark);
      }
    }
    return { messages, next: null };
  }

  /** Delayed messages that are due. */
  due(nowMs: number): Promise<DueMessages> {
    return this.#thread.read({ kind: 'due', nowMs, bytesMax: limits.backlogReadBytes });
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}

function toRun({ firstSeq, count, body }: ReadBlock): CachedRun {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return { firstSeq, count, buffer, start: 0, end: buffer.byteLength, kept: 0 };
}

function parseCursor(after: string | undefined): [shard: number, seq: number] {
  if (after === undefined) return [0, 0];
  const match = /^(\d{1,9})\.(\d{1,15})$/.exec(after);
  if (match === null)
    throw new QueueError('OPTIONS_INVALID', { sentence: '`after` is not a page mark of this queue' });
  return [Number(match[1]), Number(match[2])];
}

function* liveMessages(
  reader: ShardReader,
  runs: readonly CachedRun[],
  fromSeq: number,
): Generator<[place: string, message: BrowsedMessage]> {
  const { shard, consumption } = reader;
  const terminal = consumption.ranges();
  let range = 0;
  for (const run of runs) {
    let at = run.start;
    for (let seq = run.firstSeq; seq < run.firstSeq + run.count; seq += 1) {
      const start = at;
      at = recordEnd(run.buffer, at);
      while (range < terminal.length && terminal[range]![1] <= seq) range += 1;
      const consumed =
        seq < consumption.watermark || (terminal[range]?.[0] ?? Number.POSITIVE_INFINITY) <= seq;
      if (consumed || seq < fromSeq || seq >= shard.committedEnd || !reader.isFor(run.buffer, start))
        continue;
      const place = `${shard.no}.${seq}`;
      const id = readId(run.buffer, start) ?? place;
      yield [place, { id, ...readRecord(run.buffer, start), ...reader.statusOf(seq) }];
    }
  }
}

function toQueueError(error: unknown): QueueError {
  return error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error });
}
