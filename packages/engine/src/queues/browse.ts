/**
 * Browsing: pages of the messages that are committed, not consumed and not damaged, those of each log in order, then the
 * delayed ones; or of those that were consumed and are kept. Nothing is consumed or held.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { Delivery } from '../log/delivery.ts';
import type { CachedRun } from '../log/message-cache.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { CorrelationKey } from '../model/correlation-key.ts';
import type { DelayClock } from '../model/delay-clock.ts';
import type { DelayedKey } from '../model/delayed-message.ts';
import type { LogId, Seq } from '../model/ids.ts';
import { bufferOf, readId, recordEnd } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { ReadChunk } from '../payloads/payload-stream.ts';
import type { BacklogReader } from './backlog-reader.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import type { BrowsedPage, BrowseOptions, QueueBrowser } from './queue-engine.ts';
import { readContent } from './record-content.ts';
import type { ShardedQueues } from './sharded-queues.ts';
import type { TimedHolds } from './timed-holds.ts';

export interface BrowseSources {
  queues: ShardedQueues;
  backlogReader: BacklogReader;
  holds: TimedHolds<Delivery>;
  payloads: PayloadStore;
  delayClock: DelayClock;
}

type BrowseInput = BrowseSources & Pick<BrowseOptions, 'key' | 'processed'>;

/** A message and its place. `seq` is undefined if it is delayed. */
interface BrowseEntry {
  pageMark: string;
  /** Of its record. */
  bytes: number;
  cursor: SubscriberCursor;
  seq?: Seq;
  message: BrowsedMessage;
}

export class ShardedBrowser implements QueueBrowser {
  readonly #sources: BrowseSources;

  constructor(sources: BrowseSources) {
    this.#sources = sources;
  }

  async browse(
    row: QueueRow,
    {
      subscriber,
      limit,
      after,
      bytesMax,
      state,
      ...selected
    }: BrowseOptions & { subscriber: string | undefined },
  ): Promise<BrowsedPage> {
    const { cursors } = this.#sources.queues.getOrCreate(row).subscription(subscriber);
    const found: BrowseEntry[] = [];
    let next: string | null = null;
    let last: string | null = null;
    let read = 0;
    let bytesLeft = bytesMax ?? Number.POSITIVE_INFINITY;
    for await (const entry of allEntries(cursors, { ...this.#sources, ...selected }, after)) {
      const isFull = found.length === limit || (found.length > 0 && entry.bytes > bytesLeft);
      if (isFull || (state !== undefined && read === limits.browseReadMax)) {
        next = last;
        break;
      }
      last = entry.pageMark;
      read += 1;
      if (state !== undefined && entry.message.state !== state) continue;
      found.push(entry);
      bytesLeft -= entry.bytes;
    }
    addHoldExpiry(found, this.#sources.holds);
    return { messages: found.map(({ message }) => message), next };
  }
}

async function* allEntries(
  cursors: readonly SubscriberCursor[],
  sources: BrowseInput,
  after: string | undefined,
): AsyncGenerator<BrowseEntry> {
  const from = parsePageMark(after);
  if (from.delayed === undefined) {
    for (const cursor of cursors.toSorted((a, b) => a.log.id - b.log.id)) {
      if (cursor.log.id < from.logId) continue;
      const afterSeq = cursor.log.id === from.logId ? from.seq : 0;
      if (sources.processed) yield* processedEntries(cursor, sources, afterSeq);
      else {
        yield* evacuatedEntries(cursor, sources, afterSeq);
        yield* partitionEntries(cursor, sources, afterSeq);
      }
    }
  }
  if (!sources.processed)
    yield* delayedEntries(cursors, sources, from.delayed ?? { dueAtMs: 0, delayedId: 0 });
}

/** Evacuated messages are older than all that is in partitions. */
async function* evacuatedEntries(
  cursor: SubscriberCursor,
  { backlogReader, payloads, key }: BrowseInput,
  afterSeq: Seq,
): AsyncGenerator<BrowseEntry> {
  if (cursor.evacuated.size === 0) return;
  for (const { seq, record } of await backlogReader.readEvacuated(cursor)) {
    const buffer = bufferOf(record);
    if (seq > afterSeq && cursor.evacuated.has(seq) && matchesKey(key, buffer, 0))
      yield toEntry(cursor, seq, { buffer, start: 0, payloads });
  }
}

async function* partitionEntries(
  cursor: SubscriberCursor,
  { backlogReader, payloads, key }: BrowseInput,
  afterSeq: Seq,
): AsyncGenerator<BrowseEntry> {
  const { log, consumption } = cursor;
  let seq = Math.max(afterSeq + 1, consumption.watermark);
  while (seq < log.committedEndSeq) {
    assertPresent(cursor);
    const damaged = backlogReader.damagedEndSeq(cursor, seq);
    if (damaged !== undefined) {
      seq = damaged;
      continue;
    }
    const { runs, readEnd } = await readRunsFrom(cursor, seq, { backlogReader, key });
    for (const record of recordsOf(cursor, runs, { fromSeq: seq, consumed: false }))
      if (matchesKey(key, record.buffer, record.start))
        yield toEntry(cursor, record.seq, { ...record, payloads });
    seq = Math.max(readEnd, seq + 1, consumption.watermark);
  }
}

/** Consumed messages whose partitions are kept. The partitions may be truncated while they are read. */
async function* processedEntries(
  cursor: SubscriberCursor,
  { backlogReader, payloads, key }: BrowseInput,
  afterSeq: Seq,
): AsyncGenerator<BrowseEntry> {
  const { log } = cursor;
  const { partitions } = log;
  let seq = Math.max(afterSeq + 1, cursor.firstSeq);
  for (;;) {
    assertPresent(cursor);
    const partition = partitions.all.find((each) => !each.truncating && partitions.endSeqOf(each) > seq);
    if (partition === undefined || seq >= log.committedEndSeq) return;
    seq = Math.max(seq, partition.firstSeq);
    const end = Math.min(partitions.endSeqOf(partition), log.committedEndSeq);
    const { runs, readEnd } = partition.damaged
      ? { runs: [], readEnd: end }
      : await readRunsFrom(cursor, seq, { backlogReader, key });
    for (const record of recordsOf(cursor, runs, { fromSeq: seq, consumed: true })) {
      if (!matchesKey(key, record.buffer, record.start)) continue;
      const entry = toEntry(cursor, record.seq, { ...record, payloads });
      yield { ...entry, message: { ...entry.message, state: 'processed', deliveryCount: 0 } };
    }
    seq = runs.length === 0 ? end : readEnd;
  }
}

/** Since the last read the queue may have been dropped or the subscriber removed, and its partitions truncated. */
function assertPresent(cursor: SubscriberCursor): void {
  if (cursor.log.dropped) throw new QueueError('QUEUE_DROPPED');
  if (cursor.removed) throw new QueueError('SUBSCRIBER_NOT_FOUND');
}

/** Reads the next messages of a log. With a correlation id, messages without it may be left out. */
async function readRunsFrom(
  cursor: SubscriberCursor,
  seq: Seq,
  { backlogReader, key }: Pick<BrowseInput, 'backlogReader' | 'key'>,
): Promise<{ runs: readonly CachedRun[]; readEnd: Seq }> {
  const { log } = cursor;
  if (!log.persistent) return { runs: cursor.cachedLiveRuns, readEnd: log.committedEndSeq };
  if (key !== undefined && log.correlationIndexed) return backlogReader.searchRuns(cursor, seq, key.hash);
  return backlogReader.readRuns(cursor, seq);
}

const matchesKey = (key: CorrelationKey | undefined, buffer: Buffer, start: number) =>
  key === undefined || key.matches(buffer, start);

interface FoundRecord {
  seq: Seq;
  buffer: Buffer;
  start: number;
}

/** The subscriber's messages in these runs that are consumed, or that are not. */
function* recordsOf(
  cursor: SubscriberCursor,
  runs: readonly CachedRun[],
  wanted: { fromSeq: Seq; consumed: boolean },
): Generator<FoundRecord> {
  const { log, consumption } = cursor;
  const ranges = consumption.ranges();
  let range = 0;
  for (const { firstSeq, count, buffer, start: runStart } of runs) {
    let at = runStart;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      const start = at;
      at = recordEnd(buffer, at);
      while (range < ranges.length && ranges[range]![1] <= seq) range += 1;
      if (seq < wanted.fromSeq || seq >= log.committedEndSeq) continue;
      const terminal = seq < consumption.watermark || (ranges[range]?.[0] ?? Number.POSITIVE_INFINITY) <= seq;
      // An evacuated message is terminal in its partition, and lives elsewhere.
      const isWanted = wanted.consumed ? terminal && !cursor.evacuated.has(seq) : !terminal;
      if (isWanted && cursor.isRecipient(buffer, start)) yield { seq, buffer, start };
    }
  }
}

function toEntry(
  cursor: SubscriberCursor,
  seq: Seq,
  { buffer, start, payloads }: Omit<FoundRecord, 'seq'> & { payloads: PayloadStore },
): BrowseEntry {
  const mark = `${cursor.log.id}.${seq}`;
  const id = readId(buffer, start) ?? mark;
  const content = readContent(buffer, start, chunkReaderOf(payloads));
  const bytes = recordEnd(buffer, start) - start;
  return { pageMark: mark, bytes, cursor: cursor, seq, message: { id, ...content, ...cursor.statusOf(seq) } };
}

const chunkReaderOf =
  (payloads: PayloadStore): ReadChunk =>
  (key) =>
    payloads.readChunk(key);

/** Delayed messages, the first due first. */
async function* delayedEntries(
  [cursor]: readonly SubscriberCursor[],
  { backlogReader, payloads, delayClock, key }: BrowseInput,
  after: DelayedKey,
): AsyncGenerator<BrowseEntry> {
  if (cursor === undefined || !cursor.log.persistent) return;
  let place = after;
  for (;;) {
    const { rows, more } = await backlogReader.readDelayed(cursor.log.queueId, place);
    for (const { dueAtMs, delayedId, record } of rows) {
      place = { dueAtMs, delayedId };
      const buffer = bufferOf(record);
      if (!cursor.isRecipient(buffer, 0) || !matchesKey(key, buffer, 0)) continue;
      const mark = `delayed.${dueAtMs}.${delayedId}`;
      const status = { state: 'delayed', deliveryCount: 0, untilMs: delayClock.epochMsOf(dueAtMs) } as const;
      const content = readContent(buffer, 0, chunkReaderOf(payloads));
      yield {
        pageMark: mark,
        bytes: buffer.length,
        cursor: cursor,
        message: { id: readId(buffer, 0) ?? mark, ...content, ...status },
      };
    }
    if (!more) return;
  }
}

/** Holds cannot be looked up by message, so this is one pass over all of them, made only if the page has held messages. */
function addHoldExpiry(page: readonly BrowseEntry[], holds: TimedHolds<Delivery>): void {
  const held = new Map<SubscriberCursor, Map<Seq, BrowsedMessage>>();
  for (const { cursor, seq, message } of page) {
    if (seq === undefined || message.state !== 'held') continue;
    const ofCursor = held.get(cursor) ?? new Map<Seq, BrowsedMessage>();
    held.set(cursor, ofCursor.set(seq, message));
  }
  if (held.size === 0) return;
  for (const { delivery, untilMs } of holds.expiring()) {
    const message = held.get(delivery.cursor)?.get(delivery.firstSeq);
    if (message !== undefined) message.untilMs = untilMs;
  }
}

function parsePageMark(after: string | undefined): { logId: LogId; seq: Seq; delayed?: DelayedKey } {
  if (after === undefined) return { logId: 0, seq: 0 };
  const [, isDelayed, first, second] = /^(delayed\.)?(\d{1,15})\.(\d{1,15})$/.exec(after) ?? [];
  if (first === undefined) {
    throw new QueueError('OPTIONS_INVALID', {
      message: '`after` must be the `next` of an earlier page of this queue',
    });
  }
  const [a, b] = [Number(first), Number(second)];
  return isDelayed === undefined
    ? { logId: a, seq: b }
    : { logId: 0, seq: 0, delayed: { dueAtMs: a, delayedId: b } };
}
