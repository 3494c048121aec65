/**
 * Streamed payloads of an instance: their chunks, and which message refers to which payload. Chunks are written ahead by separate
 * transactions and are invisible until the commit that enqueues the message writes the reference. Chunks without a reference are
 * orphans, left by an upload that a crash interrupted or by a consumed message.
 */
import { QueueError } from '../../../api/errors.ts';
import type { ChunkKey, OrphanedPayload, RecoveredPayloads } from '../../../model/payload-chunk.ts';
import type { PayloadReference } from '../../../model/payload-references.ts';
import { chunkChecksum } from '../../checksum.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const payloadReferences = new CheckedTable<PayloadReference>({
  name: 'payload_reference',
  columns: ['queueId', 'shard', 'seq', 'payloadId', 'bytes'],
  key: ['queueId', 'shard', 'seq'],
});

export const payloadTables = {
  schemaSql: `
    CREATE TABLE payload_chunk (
      payload_id INTEGER NOT NULL,  -- unique in the instance, never reused
      chunk_index INTEGER NOT NULL, -- from 0; all chunks but the last are of the same size
      body BLOB NOT NULL,
      crc INTEGER NOT NULL,         -- over the columns before it
      UNIQUE (payload_id, chunk_index)
    ) STRICT;
    CREATE TABLE payload_reference (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      payload_id INTEGER NOT NULL,
      bytes INTEGER NOT NULL,       -- of the whole payload
      crc INTEGER NOT NULL,         -- over the columns before it
      PRIMARY KEY (queue_id, shard, seq)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [payloadReferences],
  createAppliers: (file): WriteAppliers<PayloadWriteKind> => {
    // Kept, since a statement that waits for the garbage collector keeps the chunk that was bound to it.
    const insertChunk = file.prepare(
      'INSERT INTO payload_chunk (payload_id, chunk_index, body, crc) VALUES (?, ?, ?, ?)',
    );
    const writeReference = payloadReferences.createWriter(file);
    return {
      chunk: ({ key, body }) => {
        const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
        insertChunk.run(key.payloadId, key.chunkIndex, bytes, chunkChecksum(key, bytes));
      },
      'delete chunks': ({ payload, from, to }) => {
        file
          .prepare('DELETE FROM payload_chunk WHERE payload_id = ? AND chunk_index >= ? AND chunk_index < ?')
          .run(payload, from, to);
      },
      'payload referenced': ({ reference: { queueId, shard, seq, payloadId, bytes } }) =>
        writeReference({ queueId, shard, seq, payloadId, bytes }),
      'payload released': ({ reference: { queueId, shard, seq } }) => {
        file
          .prepare('DELETE FROM payload_reference WHERE queue_id = ? AND shard = ? AND seq = ?')
          .run(queueId, shard, seq);
      },
    };
  },
  bodyBytes: { chunk: ({ body }) => body.byteLength },
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM payload_reference WHERE queue_id = ?').run(queueId);
  },
  recover: (file) => ({ payloads: recoverPayloads(file) }),
  findFaults: findPayloadFaults,
} satisfies TableModule;

type PayloadWriteKind = 'chunk' | 'delete chunks' | 'payload referenced' | 'payload released';

/** Undefined if there is no such chunk. Throws `STORAGE_CORRUPT` if it is damaged. */
export function readChunk(file: SqliteFile, key: ChunkKey): Uint8Array | undefined {
  const { payloadId, chunkIndex } = key;
  const row = file
    .prepare('SELECT body, crc FROM payload_chunk WHERE payload_id = ? AND chunk_index = ?')
    .get(payloadId, chunkIndex) as { body: Uint8Array; crc: number } | undefined;
  if (row === undefined) return undefined;
  if (row.crc === chunkChecksum({ payloadId, chunkIndex }, row.body)) return row.body;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `Chunk ${chunkIndex} of payload ${payloadId} is damaged (checksum mismatch)`,
    details: { path: file.name, payloadId, chunkIndex },
  });
}

/** A damaged reference is `STORAGE_CORRUPT`: without it the chunks would count as orphans and be deleted. */
function recoverPayloads(file: SqliteFile): RecoveredPayloads {
  return { references: payloadReferences.read(file), orphans: findOrphans(file) };
}

/** Steps from payload to payload over the index, so the cost does not depend on the number of chunks. */
function findOrphans(file: SqliteFile): OrphanedPayload[] {
  return file
    .prepare(
      `WITH RECURSIVE stored (payload_id) AS (
         SELECT min(payload_id) FROM payload_chunk
         UNION ALL
         SELECT (SELECT min(payload_id) FROM payload_chunk WHERE payload_id > stored.payload_id)
         FROM stored WHERE stored.payload_id IS NOT NULL
       )
       SELECT payload_id AS payloadId,
         (SELECT max(chunk_index) + 1 FROM payload_chunk AS chunk WHERE chunk.payload_id = stored.payload_id) AS chunkCount
       FROM stored
       WHERE payload_id IS NOT NULL AND payload_id NOT IN (SELECT payload_id FROM payload_reference)`,
    )
    .all() as OrphanedPayload[];
}

/** Reads every chunk that a message refers to. */
function findPayloadFaults(file: SqliteFile): string[] {
  const references = payloadReferences.readUndamaged(file);
  const faults: string[] = [];
  const byPayload = new Map(references.map((reference) => [reference.payloadId, reference]));
  for (const reference of byPayload.values()) {
    if (!isPayloadUndamaged(file, reference))
      faults.push(`The streamed payload of message ${reference.shard}.${reference.seq} is damaged`);
  }
  return faults;
}

function isPayloadUndamaged(file: SqliteFile, { payloadId, bytes }: PayloadReference): boolean {
  const chunks = file
    .prepare(
      'SELECT chunk_index AS chunkIndex, body, crc FROM payload_chunk WHERE payload_id = ? ORDER BY chunk_index',
    )
    .iterate(payloadId) as Iterable<{ chunkIndex: number; body: Buffer; crc: number }>;
  let bytesFound = 0;
  let undamaged = true;
  for (const { chunkIndex, body, crc } of chunks) {
    bytesFound += body.byteLength;
    undamaged &&= crc === chunkChecksum({ payloadId, chunkIndex }, body);
  }
  return undamaged && bytesFound === bytes;
}
