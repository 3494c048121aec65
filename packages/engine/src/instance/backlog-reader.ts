/**
 * Brings messages back from partitions: ahead of the consumers where the cache did not keep them, and for browsing.
 * Reads are in bulk and in a thread of their own, at most one under way for a shard.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { ReadBlock } from '../storage/group-message.ts';
import { readRecord, recordEnd } from '../storage/message-record.ts';
import type { BrowsedMessage } from '../types.ts';
import type { CachedRun } from './message-cache.ts';
import type { Shard } from './shard.ts';
import type { ShardedQueue } from './sharded-queue.ts';
import { ReaderThread } from './storage-threads.ts';

export class BacklogReader {
  readonly #thread: ReaderThread;
  readonly #waits: WaitRecorder;
  readonly #onRead: (shard: Shard, error: QueueError | undefined) => void;
  readonly #reading = new Map<Shard, Promise<void>>();

  /** `onRead` is told of each read that ended, and of the error if it failed: the messages are still on disk then. */
  constructor(
    path: string,
    waits: WaitRecorder,
    onRead: (shard: Shard, error: QueueError | undefined) => void,
  ) {
    this.#thread = new ReaderThread(path);
    this.#waits = waits;
    this.#onRead = onRead;
  }

  /** Starts the next read of a shard if its window runs low. */
  ahead(shard: Shard): void {
    const fromSeq = shard.nextRead();
    if (fromSeq === undefined || this.#reading.has(shard)) return;
    const read = this.#load(shard, fromSeq);
    this.#reading.set(shard, read);
    read.then(
      () => this.#ended(shard, undefined),
      (error: unknown) => this.#ended(shard, toQueueError(error)),
    );
  }

  #ended(shard: Shard, error: QueueError | undefined): void {
    this.#reading.delete(shard);
    this.#onRead(shard, error);
  }

  /** The first read under way for one of these shards, if there is one; rejects if it fails. */
  under(shards: readonly Shard[]): Promise<void> | undefined {
    for (const shard of shards) {
      const read = this.#reading.get(shard);
      if (read !== undefined) return read;
    }
    return undefined;
  }

  async #load(shard: Shard, fromSeq: number): Promise<void> {
    const startedAt = performance.now();
    const { runs, readEnd } = await this.#read(shard, fromSeq);
    this.#waits.record('backlog read', performance.now() - startedAt);
    shard.load(runs, readEnd);
  }

  async #read(shard: Shard, fromSeq: number): Promise<{ runs: CachedRun[]; readEnd: number }> {
    const committedEnd = shard.committedEnd;
    const partition = shard.partitions.find(fromSeq);
    const rangeEnd = Math.min(shard.partitions.rangeEnd(partition), committedEnd);
    const blocks = await this.#thread.read({
      partition: partition.no,
      fromSeq,
      bytesMax: limits.backlogReadBytes,
    });
    if (partition.truncating || !shard.partitions.all.includes(partition)) {
      // All of it was consumed meanwhile, and the table may hold another shard's messages by now.
      return { runs: [], readEnd: Math.min(shard.consumption.watermark, shard.committedEnd) };
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
    queue: ShardedQueue,
    { limit, after }: { limit: number; after: string | undefined },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    let [shardNo, afterSeq] = parseCursor(after);
    const messages: BrowsedMessage[] = [];
    for (const shard of queue.shards.toSorted((a, b) => a.no - b.no)) {
      if (shard.no < shardNo) continue;
      if (shard.no > shardNo) afterSeq = 0;
      shardNo = shard.no;
      let seq = Math.max(afterSeq + 1, shard.consumption.watermark);
      while (seq < shard.committedEnd) {
        const { runs, readEnd } = shard.persistent
          ? await this.#read(shard, seq)
          : { runs: shard.liveRuns, readEnd: shard.committedEnd };
        for (const browsed of liveMessages(shard, runs, seq)) {
          if (messages.length === limit) return { messages, next: messages.at(-1)!.id };
          messages.push(browsed);
        }
        seq = Math.max(readEnd, seq + 1, shard.consumption.watermark);
      }
    }
    return { messages, next: null };
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }
}

function toRun({ firstSeq, count, body }: ReadBlock): CachedRun {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return { firstSeq, count, buffer, start: 0, end: buffer.byteLength };
}

function parseCursor(after: string | undefined): [shard: number, seq: number] {
  if (after === undefined) return [0, 0];
  const match = /^(\d{1,9})\.(\d{1,15})$/.exec(after);
  if (match === null)
    throw new QueueError('OPTIONS_INVALID', { sentence: '`after` is not a page mark of this queue' });
  return [Number(match[1]), Number(match[2])];
}

function* liveMessages(shard: Shard, runs: readonly CachedRun[], fromSeq: number): Generator<BrowsedMessage> {
  const terminal = shard.consumption.ranges();
  let range = 0;
  for (const run of runs) {
    let at = run.start;
    for (let seq = run.firstSeq; seq < run.firstSeq + run.count; seq += 1) {
      const start = at;
      at = recordEnd(run.buffer, at);
      while (range < terminal.length && terminal[range]![1] <= seq) range += 1;
      const consumed =
        seq < shard.consumption.watermark || (terminal[range]?.[0] ?? Number.POSITIVE_INFINITY) <= seq;
      if (consumed || seq < fromSeq || seq >= shard.committedEnd) continue;
      yield {
        id: `${shard.no}.${seq}`,
        ...readRecord(run.buffer, start),
        ...shard.statusOf(seq),
      };
    }
  }
}

function toQueueError(error: unknown): QueueError {
  return error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error });
}
