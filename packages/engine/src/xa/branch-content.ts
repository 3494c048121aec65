/**
 * The work of a prepared branch's commit, as bytes:
 *
 *     u32 bytes of the header · header, JSON · records
 *
 * The header lists runs of messages for each log, delayed messages, the consumed messages, and the branches of other instances
 * whose work it includes; the records follow in the header's order. Little-endian.
 */
import { newStagedRun, type StagedRun } from '../commit/staged-transaction.ts';
import type { MessageLog } from '../log/message-log.ts';
import { mergeRanges, type SeqRange } from '../model/consumption.ts';
import type { DelayedRow } from '../model/delayed-message.ts';
import type { LogId, QueueId, SubscriberId } from '../model/ids.ts';
import { bufferOf } from '../model/message-record.ts';
import type { PreparableContent } from '../queues/transaction-content.ts';

interface Header {
  runs: ContentRun[];
  delayed: (Omit<DelayedRow, 'record'> & { bytes: number })[];
  consumed: ConsumedMessages[];
  /** Keys of branches. */
  absorbed?: string[];
}

/** Messages for one log, in pieces of consecutive records that fit a block. */
interface ContentRun {
  queueId: QueueId;
  log: LogId;
  pieces: { count: number; bytes: number }[];
}

export interface ConsumedMessages {
  queueId: QueueId;
  log: LogId;
  subscriber: SubscriberId;
  ranges: SeqRange[];
}

export function encodeBranch(
  { runs, deliveries, delayed }: PreparableContent,
  absorbed: ReadonlySet<string>,
): Buffer {
  const byCursor = Map.groupBy(deliveries, ({ cursor }) => cursor);
  const header: Header = {
    runs: runs.map(({ log, segments }) => ({
      queueId: log.queueId,
      log: log.id,
      pieces: segments.map(({ count, start, end }) => ({ count, bytes: end - start })),
    })),
    delayed: delayed.map(({ record, ...row }) => ({ ...row, bytes: record.byteLength })),
    consumed: [...byCursor].map(([{ log, subscriber }, own]) => ({
      queueId: log.queueId,
      log: log.id,
      subscriber,
      ranges: mergeRanges(own.map(({ firstSeq, count }) => [firstSeq, firstSeq + count])),
    })),
    ...(absorbed.size > 0 && { absorbed: [...absorbed] }),
  };
  const text = Buffer.from(JSON.stringify(header));
  const records = [
    ...runs.flatMap(({ segments }) => segments.map(({ buffer, start, end }) => buffer.subarray(start, end))),
    ...delayed.map(({ record }) => record),
  ];
  const bytes = records.reduce((sum, record) => sum + record.byteLength, 4 + text.length);
  // Not part of a pooled buffer, all of which would be copied to the writer.
  const content = Buffer.allocUnsafeSlow(bytes);
  let offset = content.writeUInt32LE(text.length);
  for (const part of [text, ...records]) {
    content.set(part, offset);
    offset += part.byteLength;
  }
  return content;
}

/** Finds a log that a branch's content refers to; undefined if its queue has been dropped. */
export type FindLog = (queueId: QueueId, logId: LogId) => MessageLog | undefined;

export interface StagedContent {
  runs: StagedRun[];
  delayed: DelayedRow[];
  consumed: ConsumedMessages[];
  absorbed: readonly string[];
  /** Messages that it enqueues, delayed ones included. */
  messages: number;
}

/** Stages the content for a commit. Messages for a queue that was dropped are left out: its drop would have deleted them. */
export function stageBranch(stored: Uint8Array, findLog: FindLog): StagedContent {
  const content = bufferOf(stored);
  let offset = 4 + content.readUInt32LE();
  const header = JSON.parse(content.toString('utf8', 4, offset)) as Header;
  const runs: StagedRun[] = [];
  const delayed: DelayedRow[] = [];
  for (const { queueId, log: logId, pieces } of header.runs) {
    const log = findLog(queueId, logId);
    const run = log && newStagedRun(log);
    for (const { count, bytes } of pieces) {
      const segment = { firstSeq: 0, count, buffer: content, start: offset, end: offset + bytes };
      run?.segments.push({ ...segment, fromDisk: false, retainCount: 0 });
      if (run !== undefined) run.count += count;
      offset += bytes;
    }
    if (run !== undefined) runs.push(run);
  }
  for (const { bytes, ...row } of header.delayed) {
    const record = Uint8Array.from(content.subarray(offset, offset + bytes));
    offset += bytes;
    if (findLog(row.queueId, row.shard) !== undefined) delayed.push({ ...row, record });
  }
  const messages = runs.reduce((sum, { count }) => sum + count, delayed.length);
  return { runs, delayed, consumed: header.consumed, absorbed: header.absorbed ?? [], messages };
}
