/**
 * One shard in memory: a log of numbered messages that is only ever appended to and truncated, and the readers that go
 * over it.
 */
import { PartitionLife } from '../core/partition-life.ts';
import type { CachedRun, CacheShare } from './message-cache.ts';
import { type ReaderStart, ShardReader } from './shard-reader.ts';

export interface ShardStart {
  queueId: number;
  no: number;
  persistent: boolean;
  firstSeq: number;
  endSeq: number;
  partitionMessagesMax: number;
  indexed: boolean;
}

export class Shard {
  readonly queueId: number;
  readonly no: number;
  /** False for nonpersistent queues: their messages live in the cache alone. */
  readonly persistent: boolean;
  /** Its partitions have local indexes on correlation ids. */
  readonly indexed: boolean;
  readonly partitions: PartitionLife;
  readonly cache: CacheShare;
  /** Number of the next message to be grouped for commit. */
  nextSeq: number;
  /** Messages below are committed. */
  committedEnd: number;
  /** Its queue was dropped: nothing more is committed to it. */
  dropped = false;
  /** Sessions bound to it. */
  boundSessions = 0;
  /** Numbers of failed groups: terminal without ever having been messages. */
  gaps = 0;
  /** Bytes of its messages in the message cache. */
  cacheBytes = 0;
  /** Told of a message that a reader passed over, since it is not for it. */
  onPassed: ((seq: number) => void) | undefined;
  readonly firstSeq: number;
  readonly #recoveredEnd: number;
  readonly #readers = new Map<number, ShardReader>();

  constructor(start: ShardStart, cache: CacheShare) {
    this.queueId = start.queueId;
    this.no = start.no;
    this.persistent = start.persistent;
    this.indexed = start.indexed;
    this.firstSeq = start.firstSeq;
    this.partitions = new PartitionLife(start.partitionMessagesMax);
    this.nextSeq = start.endSeq;
    this.committedEnd = start.endSeq;
    this.#recoveredEnd = start.endSeq;
    this.cache = cache;
  }

  get readers(): Iterable<ShardReader> {
    return this.#readers.values();
  }

  reader(subscriber: number): ShardReader | undefined {
    return this.#readers.get(subscriber);
  }

  /** A reader that begins at `firstSeq`; what lies before is not for it. */
  addReader(of: Omit<ReaderStart, 'shard' | 'recoveredEnd'>): ShardReader {
    const reader = new ShardReader({
      ...of,
      shard: this,
      firstSeq: Math.max(of.firstSeq, this.firstSeq),
      recoveredEnd: this.#recoveredEnd,
    });
    this.#readers.set(of.subscriber, reader);
    return reader;
  }

  removeReader(subscriber: number): void {
    this.#readers.get(subscriber)?.dispose();
    this.#readers.delete(subscriber);
  }

  /** Messages below are terminal for everyone; without readers that is all of them. */
  get watermark(): number {
    let lowest = this.committedEnd;
    for (const { consumption } of this.#readers.values()) lowest = Math.min(lowest, consumption.watermark);
    return lowest;
  }

  /** Messages from `start` up to but excluding `end` that are terminal for the reader that has fewest behind it. */
  terminalBetween(start: number, end: number): number {
    let fewest = end - start;
    for (const { consumption } of this.#readers.values()) {
      fewest = Math.min(fewest, consumption.countBetween(start, end));
    }
    return fewest;
  }

  /** Messages committed since the queue was made; for a nonpersistent one, since the instance opened. */
  get enqueued(): number {
    return this.committedEnd - (this.persistent ? 1 : this.firstSeq) - this.gaps;
  }

  /** Messages committed and not consumed by the reader that has most before it, held ones included. */
  get backlog(): number {
    let most = 0;
    for (const reader of this.#readers.values()) most = Math.max(most, reader.backlog);
    return most;
  }

  /** Hand-outs of messages not yet committed, over all readers. */
  get held(): number {
    let held = 0;
    for (const reader of this.#readers.values()) held += reader.held;
    return held;
  }

  /** Messages that came back and wait for their retry delay, over all readers. */
  get paused(): number {
    let paused = 0;
    for (const reader of this.#readers.values()) paused += reader.paused;
    return paused;
  }

  /** Whether anyone still waits for the message, or holds it. */
  isLive(seq: number): boolean {
    for (const reader of this.#readers.values()) if (reader.isLive(seq)) return true;
    return false;
  }

  /** Makes a committed run visible to its readers. */
  append(run: CachedRun): void {
    this.committedEnd = run.firstSeq + run.count;
    for (const reader of this.#readers.values()) reader.append(run);
  }

  /** A reader keeps a run in the cache, until it has let go of it `times` times. */
  keep(run: CachedRun, times: number): void {
    if (run.kept === 0) {
      this.cacheBytes += run.end - run.start;
      this.cache.add(run.end - run.start);
    }
    run.kept += times;
  }

  letGo(run: CachedRun, times: number): void {
    run.kept -= times;
    if (run.kept > 0) return;
    this.cacheBytes -= run.end - run.start;
    this.cache.remove(run.end - run.start);
  }

  /** Numbers of a failed group will never be messages. */
  skip(start: number, end: number): void {
    this.gaps += end - start;
    for (const reader of this.#readers.values()) reader.skip(start, end);
    this.committedEnd = end;
  }

  /** The queue was dropped: frees what it has in the cache. */
  dispose(): void {
    for (const subscriber of [...this.#readers.keys()]) this.removeReader(subscriber);
  }
}
