/**
 * A SHA-256 over the content of a transaction, equal for each attempt at it: queues and messages in the order of the enqueue
 * calls, statements, receipts. Values that differ between attempts are left out: time stamps, the shard that a session is bound
 * to, and the id of a payload in chunks, which is replaced by the payload's SHA-256.
 */

import { createHash, type Hash } from 'node:crypto';
import type { SqlValue } from '../api/sql.ts';
import type { StagedTransaction } from '../commit/staged-transaction.ts';
import type { QueueId } from '../model/ids.ts';
import {
  bufferOf,
  type ChunkedPayload,
  chunkedPayloadStart,
  hasDueAt,
  hasId,
  hasPriority,
  readChunkedPayload,
  readEnqueuedAtMs,
  recordBytesMin,
  recordEnd,
  variableFieldsStart,
} from '../model/message-record.ts';
import type { Acknowledgement } from './queue-engine.ts';

/** `runOfCall`: see `enqueuedIds`. Cost: a hash of the transaction's bytes, about 2 µs and 1 ms for each megabyte. */
export function transactionFingerprint(
  { runs, delayed, sql }: Pick<StagedTransaction, 'runs' | 'delayed' | 'sql'>,
  runOfCall: readonly number[],
  acknowledged: readonly Acknowledgement[],
  uploaded: readonly ChunkedPayload[],
): Uint8Array {
  const hash = createHash('sha256');
  const recordsOfRuns = runs.map(({ segments }) => recordsOf(segments));
  for (const index of runOfCall) {
    if (index < 0) {
      const { queueId, record } = delayed![-1 - index]!;
      addMessage(hash, queueId, bufferOf(record), 0, uploaded);
    } else {
      const { source, start } = recordsOfRuns[index]!.next().value!;
      addMessage(hash, runs[index]!.log.queueId, source, start, uploaded);
    }
  }
  for (const { sql: text, parameters } of sql?.statements ?? []) {
    addText(hash, 'statement', text);
    const named = Object.entries(parameters as Record<string, SqlValue>);
    if (!Array.isArray(parameters)) named.sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, value] of named) addValue(hash, name, value);
  }
  for (const { row, receipts } of acknowledged) {
    for (const receipt of receipts) addText(hash, `acknowledge ${row.queueId}`, receipt);
  }
  return hash.digest();
}

interface RecordPlace {
  source: Buffer;
  start: number;
}

function* recordsOf(segments: StagedTransaction['runs'][number]['segments']): Generator<RecordPlace> {
  for (const { buffer, start, end } of segments) {
    for (let at = start; at < end; at = recordEnd(buffer, at)) yield { source: buffer, start: at };
  }
}

/** The header has the length of each part, so that moving bytes from one part to the next changes the hash. */
function addMessage(
  hash: Hash,
  queueId: QueueId,
  source: Buffer,
  start: number,
  uploaded: readonly ChunkedPayload[],
): void {
  const flags = source[start + 4]!;
  const fieldsStart = variableFieldsStart(source, start);
  const end = chunkedPayloadStart(source, start) ?? recordEnd(source, start);
  const priority = flags & hasPriority ? source[start + recordBytesMin]! : 0;
  const dueAt = start + recordBytesMin + (flags & hasPriority ? 1 : 0);
  const delayMs = flags & hasDueAt ? source.readDoubleLE(dueAt) - readEnqueuedAtMs(source, start) : 0;
  hash.update(
    `message ${queueId} ${flags & ~(hasId | hasDueAt)} ${priority} ${delayMs} ${end - fieldsStart}\n`,
  );
  hash.update(source.subarray(fieldsStart, end));
  const chunked = readChunkedPayload(source, start);
  if (chunked === undefined) return;
  const { bytes, sha256 } = uploaded.find(({ payloadId }) => payloadId === chunked.payloadId)!;
  hash.update(`payload ${bytes}\n`);
  hash.update(sha256!);
}

function addText(hash: Hash, what: string, text: string): void {
  hash.update(`${what} ${Buffer.byteLength(text)}\n`);
  hash.update(text);
}

function addValue(hash: Hash, name: string, value: SqlValue): void {
  addText(hash, 'parameter', name);
  if (value instanceof Uint8Array) {
    hash.update(`bytes ${value.byteLength}\n`);
    hash.update(value);
  } else addText(hash, typeof value, String(value));
}
