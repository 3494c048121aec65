/**
 * A look at what is committed, not consumed and not damaged, in pages: the messages of each shard in order, then those
 * that are not due yet. It takes and holds nothing.
 */
import { QueueError } from '../core/errors.ts';
import type { CorrelationKey } from '../storage/correlation-index.ts';
import type { DelayedPlace } from '../storage/delayed-table.ts';
import { type ChunkedPayload, readId, recordEnd } from '../storage/message-record.ts';
import type { BrowsedMessage } from '../types.ts';
import type { BacklogReader } from './backlog-reader.ts';
import type { Delivery } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import type { PayloadStore } from './payload-store.ts';
import { streamPayload } from './payload-stream.ts';
import { readContent } from './record-message.ts';
import type { ShardReader } from './shard-reader.ts';
import type { TimedHolds } from './timed-holds.ts';

export interface BrowseSources {
  backlog: BacklogReader;
  holds: TimedHolds<Delivery>;
  payloads: PayloadStore;
}

type Search = BrowseSources & Pick<BrowseOptions, 'key'>;

export interface BrowseOptions {
  limit: number;
  /** The `next` of the page before. */
  after: string | undefined;
  /** Only messages with this correlation id. */
  key: CorrelationKey | undefined;
}

export interface BrowsedPage {
  messages: BrowsedMessage[];
  next: string | null;
}

/** A message and where it lies. `seq` is undefined of one that is delayed. */
interface Found {
  mark: string;
  reader: ShardReader;
  seq?: number;
  message: BrowsedMessage;
}

/** `readers` are those of one queue, or of one subscriber of a topic. */
export async function browse(
  readers: readonly ShardReader[],
  { limit, after, key }: BrowseOptions,
  sources: BrowseSources,
): Promise<BrowsedPage> {
  const found: Found[] = [];
  let next: string | null = null;
  for await (const each of everything(readers, { ...sources, key }, after)) {
    if (found.length === limit) {
      next = found.at(-1)!.mark;
      break;
    }
    found.push(each);
  }
  sayWhenHoldsEnd(found, sources.holds);
  return { messages: found.map(({ message }) => message), next };
}

async function* everything(
  readers: readonly ShardReader[],
  sources: Search,
  after: string | undefined,
): AsyncGenerator<Found> {
  const from = parseMark(after);
  if (from.delayed === undefined) {
    for (const reader of readers.toSorted((a, b) => a.shard.no - b.shard.no)) {
      if (reader.shard.no < from.shard) continue;
      const afterSeq = reader.shard.no === from.shard ? from.seq : 0;
      yield* stragglers(reader, sources, afterSeq);
      yield* inOrder(reader, sources, afterSeq);
    }
  }
  yield* delayed(readers, sources, from.delayed ?? { dueAtMs: 0, no: 0 });
}

/** Moved aside when their partitions were given up, so they are older than what lies in partitions. */
async function* stragglers(
  reader: ShardReader,
  { backlog, payloads, key }: Search,
  afterSeq: number,
): AsyncGenerator<Found> {
  if (reader.aside.size === 0) return;
  for (const { seq, record } of await backlog.stragglersOf(reader)) {
    const buffer = bufferOf(record);
    if (seq > afterSeq && reader.aside.has(seq) && hasKey(key, buffer, 0))
      yield found(reader, seq, { buffer, start: 0, payloads });
  }
}

async function* inOrder(
  reader: ShardReader,
  { backlog, payloads, key }: Search,
  afterSeq: number,
): AsyncGenerator<Found> {
  const { shard, consumption } = reader;
  let seq = Math.max(afterSeq + 1, consumption.watermark);
  while (seq < shard.committedEnd) {
    // Gone since the read before, and its partitions may be as well.
    if (shard.dropped) throw new QueueError('QUEUE_DROPPED');
    if (reader.removed) throw new QueueError('SUBSCRIBER_NOT_FOUND');
    const damaged = backlog.endOfDamage(reader, seq);
    if (damaged !== undefined) {
      seq = damaged;
      continue;
    }
    const { runs, readEnd } = await blocksFrom(reader, seq, { backlog, key });
    for (const record of liveRecords(reader, runs, seq))
      if (hasKey(key, record.buffer, record.start)) yield found(reader, record.seq, { ...record, payloads });
    seq = Math.max(readEnd, seq + 1, consumption.watermark);
  }
}

/** The next messages of a shard, or with a key at least those of them that have it. */
async function blocksFrom(
  reader: ShardReader,
  seq: number,
  { backlog, key }: Pick<Search, 'backlog' | 'key'>,
): Promise<{ runs: readonly CachedRun[]; readEnd: number }> {
  const { shard } = reader;
  if (!shard.persistent) return { runs: reader.liveRuns, readEnd: shard.committedEnd };
  if (key !== undefined && shard.indexed) return backlog.search(reader, seq, key.mark);
  return backlog.read(reader, seq);
}

const hasKey = (key: CorrelationKey | undefined, buffer: Buffer, start: number) =>
  key === undefined || key.isOf(buffer, start);

interface FoundRecord {
  seq: number;
  buffer: Buffer;
  start: number;
}

function* liveRecords(
  reader: ShardReader,
  runs: readonly CachedRun[],
  fromSeq: number,
): Generator<FoundRecord> {
  const { shard, consumption } = reader;
  const terminal = consumption.ranges();
  let range = 0;
  for (const { firstSeq, count, buffer, start: runStart } of runs) {
    let at = runStart;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      const start = at;
      at = recordEnd(buffer, at);
      while (range < terminal.length && terminal[range]![1] <= seq) range += 1;
      const consumed =
        seq < consumption.watermark || (terminal[range]?.[0] ?? Number.POSITIVE_INFINITY) <= seq;
      if (consumed || seq < fromSeq || seq >= shard.committedEnd || !reader.isFor(buffer, start)) continue;
      yield { seq, buffer, start };
    }
  }
}

function found(
  reader: ShardReader,
  seq: number,
  { buffer, start, payloads }: Omit<FoundRecord, 'seq'> & { payloads: PayloadStore },
): Found {
  const mark = `${reader.shard.no}.${seq}`;
  const id = readId(buffer, start) ?? mark;
  const content = readContent(buffer, start, streamFrom(payloads));
  return { mark, reader, seq, message: { id, ...content, ...reader.statusOf(seq) } };
}

const streamFrom = (payloads: PayloadStore) => (payload: ChunkedPayload) =>
  streamPayload(payload, (place) => payloads.read(place));

/** Not due yet, the first due first. */
async function* delayed(
  [reader]: readonly ShardReader[],
  { backlog, payloads, key }: Search,
  after: DelayedPlace,
): AsyncGenerator<Found> {
  if (reader === undefined || !reader.shard.persistent) return;
  let place = after;
  for (;;) {
    const { rows, more } = await backlog.delayedOf(reader.shard.queueId, place);
    for (const { dueAtMs, no, record } of rows) {
      place = { dueAtMs, no };
      const buffer = bufferOf(record);
      if (!reader.isFor(buffer, 0) || !hasKey(key, buffer, 0)) continue;
      const mark = `delayed.${dueAtMs}.${no}`;
      const status = { state: 'delayed', deliveryCount: 0, untilMs: dueAtMs } as const;
      const content = readContent(buffer, 0, streamFrom(payloads));
      yield { mark, reader, message: { id: readId(buffer, 0) ?? mark, ...content, ...status } };
    }
    if (!more) return;
  }
}

/** One pass over all holds, and only if the page has held messages: nothing else knows a hold by its message. */
function sayWhenHoldsEnd(page: readonly Found[], holds: TimedHolds<Delivery>): void {
  const held = new Map<ShardReader, Map<number, BrowsedMessage>>();
  for (const { reader, seq, message } of page) {
    if (seq === undefined || message.state !== 'held') continue;
    const ofReader = held.get(reader) ?? new Map<number, BrowsedMessage>();
    held.set(reader, ofReader.set(seq, message));
  }
  if (held.size === 0) return;
  for (const { delivery, untilMs } of holds.running()) {
    const message = held.get(delivery.reader)?.get(delivery.firstSeq);
    if (message !== undefined) message.untilMs = untilMs;
  }
}

function parseMark(after: string | undefined): { shard: number; seq: number; delayed?: DelayedPlace } {
  if (after === undefined) return { shard: 0, seq: 0 };
  const [, isDelayed, first, second] = /^(delayed\.)?(\d{1,15})\.(\d{1,15})$/.exec(after) ?? [];
  if (first === undefined) {
    throw new QueueError('OPTIONS_INVALID', { sentence: '`after` is not a page mark of this queue' });
  }
  const [a, b] = [Number(first), Number(second)];
  return isDelayed === undefined
    ? { shard: a, seq: b }
    : { shard: 0, seq: 0, delayed: { dueAtMs: a, no: b } };
}

function bufferOf(record: Uint8Array): Buffer {
  return Buffer.from(record.buffer, record.byteOffset, record.byteLength);
}
