/**
 * How often messages were handed out without being consumed: of those that came back, and of every hand-out where a queue
 * limits them. The rows go with their partition.
 */
import type { SqliteFile } from './sqlite.ts';

export const attemptStep = `
  CREATE TABLE attempt (
    partition INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (partition, subscriber, seq)
  ) STRICT, WITHOUT ROWID;
`;

export interface AttemptRow {
  subscriber: number;
  seq: number;
  attempts: number;
}

export function writeAttempts(file: SqliteFile, partition: number, rows: readonly AttemptRow[]): void {
  const upsert = file.prepare('INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)');
  for (const { subscriber, seq, attempts } of rows) upsert.run(partition, subscriber, seq, attempts);
}

export function readAttempts(file: SqliteFile, partition: number): AttemptRow[] {
  return file
    .prepare('SELECT subscriber, seq, attempts FROM attempt WHERE partition = ?')
    .all(partition) as AttemptRow[];
}

export function deleteAttempts(file: SqliteFile, partition: number): void {
  file.prepare('DELETE FROM attempt WHERE partition = ?').run(partition);
}
