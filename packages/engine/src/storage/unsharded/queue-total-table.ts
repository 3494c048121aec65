/**
 * The counters of each unsharded queue, which determine what the file must contain: as many messages as were enqueued minus
 * consumed, with checksums that add up to `checksum_sum`. A row that a damaged page hides, or one that an old page brings back,
 * makes the two differ.
 *
 * Row 0 counts all queues: its `enqueued` is the last message id given, its `commit_number` the last durable commit
 * (`write-ahead-log.ts`). Row -1 counts rows of `session_outcome` as if they were messages; triggers keep it.
 */
import { QueueError } from '../../api/errors.ts';
import type { CommitNumber, QueueId } from '../../model/ids.ts';
import { isCheckFailed, type SqliteFile, type SqliteStatement } from '../sqlite/open-sqlite.ts';

/** Each column has a prime of its own, so no change of one column goes unnoticed. SQLite computes it with every write. */
const rowChecksumSql = `(queue_id * 1000003 + enqueued * 31 + consumed * 127 + coalesce(sealed_at + 1, 0) * 8191
  + checksum_sum * 131071 + commit_number * 524287)`;

/** Condition for statements that read or change a row. */
export const undamagedTotalSql = `row_checksum = ${rowChecksumSql}`;

/** Sums of checksums wrap at 32 bits. */
export const wrapSql = '& 4294967295';

export const queueTotalTableSql = `
  CREATE TABLE queue_total (
    queue_id INTEGER PRIMARY KEY,    -- 0: all queues, so that its \`enqueued\` is the last message id; -1: outcomes
    enqueued INTEGER NOT NULL,
    consumed INTEGER NOT NULL,
    sealed_at INTEGER CHECK (sealed_at IS NULL OR enqueued <= sealed_at),
    checksum_sum INTEGER NOT NULL DEFAULT 0,  -- of its stored rows, modulo 2³²
    commit_number INTEGER NOT NULL DEFAULT 0, -- of row 0: the last durable commit
    row_checksum INTEGER GENERATED ALWAYS AS ${rowChecksumSql} STORED
  ) STRICT;
  INSERT INTO queue_total (queue_id, enqueued, consumed) VALUES (0, 0, 0), (-1, 0, 0);
`;

export interface QueueTotal {
  enqueued: number;
  consumed: number;
}

/** The change of a queue's row by a commit; `checksumSum` may be negative. */
export interface TotalChange extends QueueTotal {
  checksumSum: number;
}

export class QueueTotals {
  readonly #file: SqliteFile;
  readonly #advance: SqliteStatement;
  readonly #upsert: SqliteStatement;
  readonly #select: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#advance = file.prepare(
      `UPDATE queue_total SET enqueued = enqueued + ?, commit_number = commit_number + ?
       WHERE queue_id = 0 AND ${undamagedTotalSql} RETURNING enqueued, commit_number AS commitNumber`,
    );
    // A damaged row is not changed: that would give it a right checksum.
    this.#upsert = file.prepare(
      `INSERT INTO queue_total (queue_id, enqueued, consumed, checksum_sum) VALUES (?, ?, ?, ? ${wrapSql})
       ON CONFLICT (queue_id) DO UPDATE SET enqueued = enqueued + excluded.enqueued,
         consumed = consumed + excluded.consumed, checksum_sum = (checksum_sum + excluded.checksum_sum) ${wrapSql}
       WHERE ${undamagedTotalSql}`,
    );
    this.#select = file.prepare(
      `SELECT enqueued, consumed, ${undamagedTotalSql} AS undamaged FROM queue_total WHERE queue_id = ?`,
    );
  }

  /** Inside a write transaction: reserves ids for `messages` messages and counts the commit if it must be durable. */
  advance(messages: number, durable: boolean): { enqueued: number; commitNumber: CommitNumber } {
    const row = this.#advance.get(messages, Number(durable)) as
      | { enqueued: number; commitNumber: CommitNumber }
      | undefined;
    if (row === undefined) throw this.#damagedError(0);
    return row;
  }

  /** Inside a write transaction. Throws `ENQUEUE_STOPPED` if the queue is sealed. */
  add(queueId: QueueId, { enqueued, consumed, checksumSum }: TotalChange): void {
    let changes: number;
    try {
      ({ changes } = this.#upsert.run(queueId, enqueued, consumed, checksumSum));
    } catch (error) {
      if (!isCheckFailed(error)) throw error;
      throw new QueueError('ENQUEUE_STOPPED', { details: { queueId }, cause: error });
    }
    if (changes === 0) throw this.#damagedError(queueId);
  }

  /** Throws `STORAGE_CORRUPT`. */
  of(queueId: QueueId): QueueTotal {
    const row = this.#select.get(queueId) as (QueueTotal & { undamaged: number }) | undefined;
    if (row === undefined) return { enqueued: 0, consumed: 0 };
    if (row.undamaged !== 1) throw this.#damagedError(queueId);
    return { enqueued: row.enqueued, consumed: row.consumed };
  }

  /** Inside a write transaction. From then on `add` refuses messages for the queue. */
  seal(queueId: QueueId): void {
    this.#file
      .prepare(
        `INSERT INTO queue_total (queue_id, enqueued, consumed, sealed_at) VALUES (?, 0, 0, 0)
         ON CONFLICT (queue_id) DO UPDATE SET sealed_at = enqueued`,
      )
      .run(queueId);
  }

  /** Inside a write transaction. */
  unseal(queueId: QueueId): void {
    this.#file.prepare('UPDATE queue_total SET sealed_at = NULL WHERE queue_id = ?').run(queueId);
  }

  #damagedError(queueId: QueueId): QueueError {
    return new QueueError('STORAGE_CORRUPT', {
      message: `The counters of queue ${queueId} in ${this.#file.name} are damaged (checksum mismatch)`,
      details: { path: this.#file.name, queueId },
    });
  }
}
