/**
 * Streamed payloads of an instance: their chunks, and which messages have them. Chunks are written by transactions of
 * their own that nobody can see; the commit that enqueues the message writes the row that says whose they are. Chunks
 * without such a row are orphans: of an upload that a crash cut off, or of a message that is finished.
 */

import { QueueError } from '../core/errors.ts';
import type { PayloadUse } from '../core/payload-uses.ts';
import { chunkChecksum, payloadUseChecksum } from './checksum.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export const payloadStep = `
  CREATE TABLE payload_chunk (
    payload INTEGER NOT NULL,   -- unique in the instance, never reused
    no INTEGER NOT NULL,        -- from 0; all but the last are of the same size
    body BLOB NOT NULL,
    crc INTEGER NOT NULL,       -- over the columns before it
    UNIQUE (payload, no)
  ) STRICT;
  CREATE TABLE payload_use (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    payload INTEGER NOT NULL,
    bytes INTEGER NOT NULL,     -- of the payload
    crc INTEGER NOT NULL,       -- over the columns before it
    PRIMARY KEY (queue_id, shard, seq)
  ) STRICT, WITHOUT ROWID;
`;

/** Names a chunk. */
export interface ChunkPlace {
  payload: number;
  no: number;
}

/** Keeps its statement: one that is left to the garbage collector keeps the chunk that was bound to it. */
export class ChunkWriter {
  readonly #insert: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#insert = file.prepare('INSERT INTO payload_chunk (payload, no, body, crc) VALUES (?, ?, ?, ?)');
  }

  write({ payload, no }: ChunkPlace, body: Buffer): void {
    this.#insert.run(payload, no, body, chunkChecksum({ payload, no }, body));
  }
}

/** Deletes chunks `from` up to but excluding `to`. */
export function deleteChunks(file: SqliteFile, payload: number, from: number, to: number): void {
  file.prepare('DELETE FROM payload_chunk WHERE payload = ? AND no >= ? AND no < ?').run(payload, from, to);
}

/** Undefined if it is not there. Throws `STORAGE_CORRUPT` if it is not what was written. */
export function readChunk(file: SqliteFile, { payload, no }: ChunkPlace): Uint8Array | undefined {
  const row = file
    .prepare('SELECT body, crc FROM payload_chunk WHERE payload = ? AND no = ?')
    .get(payload, no) as { body: Uint8Array; crc: number } | undefined;
  if (row === undefined) return undefined;
  if (row.crc === chunkChecksum({ payload, no }, row.body)) return row.body;
  throw new QueueError('STORAGE_CORRUPT', {
    sentence: `Chunk ${no} of payload ${payload} is not what was written`,
    details: { path: file.name, payload, no },
  });
}

export function insertPayloadUse(file: SqliteFile, use: PayloadUse): void {
  const { queueId, shard, seq, payload, bytes } = use;
  file
    .prepare('INSERT INTO payload_use (queue_id, shard, seq, payload, bytes, crc) VALUES (?, ?, ?, ?, ?, ?)')
    .run(queueId, shard, seq, payload, bytes, payloadUseChecksum(use));
}

export function deletePayloadUse(
  file: SqliteFile,
  { queueId, shard, seq }: Pick<PayloadUse, 'queueId' | 'shard' | 'seq'>,
): void {
  file
    .prepare('DELETE FROM payload_use WHERE queue_id = ? AND shard = ? AND seq = ?')
    .run(queueId, shard, seq);
}

export function deletePayloadUsesOfQueue(file: SqliteFile, queueId: number): void {
  file.prepare('DELETE FROM payload_use WHERE queue_id = ?').run(queueId);
}

/** Chunks that no message has. */
export interface OrphanedPayload {
  payload: number;
  chunks: number;
}

export interface RecoveredPayloads {
  uses: PayloadUse[];
  /** None if a row of `payload_use` is damaged: then nobody knows what is needed, and nothing is deleted. */
  orphans: OrphanedPayload[];
}

export function recoverPayloads(file: SqliteFile): RecoveredPayloads {
  const rows = file
    .prepare('SELECT queue_id AS queueId, shard, seq, payload, bytes, crc FROM payload_use')
    .all() as (PayloadUse & { crc: number })[];
  const uses = rows.filter((row) => row.crc === payloadUseChecksum(row)).map(({ crc: _, ...use }) => use);
  return { uses, orphans: uses.length === rows.length ? orphansOf(file) : [] };
}

/** From payload to payload over the index, whatever the number of their chunks. */
function orphansOf(file: SqliteFile): OrphanedPayload[] {
  return file
    .prepare(
      `WITH RECURSIVE stored (payload) AS (
         SELECT min(payload) FROM payload_chunk
         UNION ALL
         SELECT (SELECT min(payload) FROM payload_chunk WHERE payload > stored.payload)
         FROM stored WHERE stored.payload IS NOT NULL
       )
       SELECT payload, (SELECT max(no) + 1 FROM payload_chunk AS own WHERE own.payload = stored.payload) AS chunks
       FROM stored WHERE payload IS NOT NULL AND payload NOT IN (SELECT payload FROM payload_use)`,
    )
    .all() as OrphanedPayload[];
}

/** What is not as it was written, in sentences. Reads every chunk. */
export function findPayloadFaults(file: SqliteFile): string[] {
  const known = file.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'payload_use'").get();
  if (known === undefined) return []; // not opened since an older version wrote it
  const { uses } = recoverPayloads(file);
  const rows = file.prepare('SELECT count(*) FROM payload_use').pluck().get() as number;
  const faults: string[] = [];
  if (rows > uses.length)
    faults.push(`${rows - uses.length} rows that say which message has a streamed payload are damaged`);
  const chunk = file.prepare('SELECT no, body, crc FROM payload_chunk WHERE payload = ? ORDER BY no');
  for (const payload of new Map(uses.map((use) => [use.payload, use])).values()) {
    let bytes = 0;
    let whole = true;
    for (const row of chunk.iterate(payload.payload) as Iterable<{ no: number; body: Buffer; crc: number }>) {
      bytes += row.body.byteLength;
      whole &&= row.crc === chunkChecksum({ payload: payload.payload, no: row.no }, row.body);
    }
    if (!whole || bytes !== payload.bytes)
      faults.push(`The streamed payload of message ${payload.shard}.${payload.seq} is damaged`);
  }
  return faults;
}
