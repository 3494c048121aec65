/**
 * Stragglers: the few messages of an old partition that are still live when all around them is consumed. They are copied
 * here so that the partition can be truncated; each has a row for every subscriber that has not consumed it.
 */
import { recordEnd } from './message-record.ts';
import { partitionTable } from './partition-table.ts';
import type { SqliteFile } from './sqlite.ts';

export const stragglerStep = `
  CREATE TABLE straggler (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (queue_id, shard, subscriber, seq)
  ) STRICT, WITHOUT ROWID;
`;

/** Names a straggler of a subscriber. */
export interface StragglerKey {
  queueId: number;
  shard: number;
  subscriber: number;
  seq: number;
}

export interface StragglerRow extends StragglerKey {
  attempts: number;
  record: Uint8Array;
}

const keyIs = 'queue_id = ? AND shard = ? AND subscriber = ? AND seq = ?';
const columns = 'queue_id AS queueId, shard, subscriber, seq, attempts, record';

/** Copies messages out of the partition that they lie in. */
export function copyStragglers(
  file: SqliteFile,
  partition: number,
  rows: readonly Omit<StragglerRow, 'record'>[],
): void {
  const insert = file.prepare('INSERT INTO straggler VALUES (?, ?, ?, ?, ?, ?)');
  for (const { queueId, shard, subscriber, seq, attempts } of rows) {
    insert.run(queueId, shard, subscriber, seq, attempts, recordOf(file, partition, seq));
  }
}

function recordOf(file: SqliteFile, partition: number, seq: number): Uint8Array {
  const { firstSeq, body } = file
    .prepare(
      `SELECT seq AS firstSeq, body FROM ${partitionTable(partition)} WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
    )
    .get(seq) as { firstSeq: number; body: Buffer };
  let start = 0;
  for (let at = firstSeq; at < seq; at += 1) start = recordEnd(body, start);
  return body.subarray(start, recordEnd(body, start));
}

export function deleteStraggler(file: SqliteFile, { queueId, shard, subscriber, seq }: StragglerKey): void {
  file.prepare(`DELETE FROM straggler WHERE ${keyIs}`).run(queueId, shard, subscriber, seq);
}

export function countStragglerAttempts(
  file: SqliteFile,
  { queueId, shard, subscriber, seq, attempts }: Omit<StragglerRow, 'record'>,
): void {
  file
    .prepare(`UPDATE straggler SET attempts = ? WHERE ${keyIs}`)
    .run(attempts, queueId, shard, subscriber, seq);
}

export function deleteStragglersOfQueue(file: SqliteFile, queueId: number): void {
  file.prepare('DELETE FROM straggler WHERE queue_id = ?').run(queueId);
}

/** All of them: their number is bounded. */
export function readStragglers(file: SqliteFile): StragglerRow[] {
  return file.prepare(`SELECT ${columns} FROM straggler`).all() as StragglerRow[];
}

/** Those of one reader, in order. */
export function readStragglersOf(
  file: SqliteFile,
  { queueId, shard, subscriber }: Omit<StragglerKey, 'seq'>,
): StragglerRow[] {
  return file
    .prepare(
      `SELECT ${columns} FROM straggler WHERE queue_id = ? AND shard = ? AND subscriber = ? ORDER BY seq`,
    )
    .all(queueId, shard, subscriber) as StragglerRow[];
}
