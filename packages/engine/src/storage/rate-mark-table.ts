/**
 * Where the windows begin over which the rates of the unsharded queues are counted. A mark rides in a commit of whichever
 * process comes first once the one before is old enough, so nobody writes for it alone; the view counts up to now, and
 * shows rates that fall when nobody commits any more.
 */
import { limits } from '../core/limits.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

/** The window is as in `core/rate-window.ts`: from one of two marks, which move up in turn. */
export const rateMarkStep = `
  CREATE TABLE rate_mark (
    queue_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,             -- as in the catalog
    from_ms INTEGER NOT NULL,
    from_enqueued INTEGER NOT NULL,
    from_consumed INTEGER NOT NULL,
    next_ms INTEGER NOT NULL,
    next_enqueued INTEGER NOT NULL,
    next_consumed INTEGER NOT NULL
  ) STRICT;

  CREATE VIEW shardlab_queues AS
  WITH
    at AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now_ms),
    holding AS (SELECT queue_id, count(*) AS held FROM hand_out WHERE holder > 0 GROUP BY queue_id),
    counted AS (
      SELECT queue_id, name AS queue, enqueued, consumed, enqueued - consumed AS depth, coalesce(held, 0) AS held,
        coalesce(max(0, now_ms - from_ms), 0) AS window_ms, coalesce(enqueued - from_enqueued, 0) AS window_in,
        coalesce(consumed - from_consumed, 0) AS window_out, now_ms
      FROM at, queue_total LEFT JOIN rate_mark USING (queue_id) LEFT JOIN holding USING (queue_id)
      WHERE queue_id > 0 -- of one that was sealed and dropped only the seal is left
        AND (sealed_at IS NULL OR EXISTS (SELECT 1 FROM message WHERE message.queue_id = queue_total.queue_id))
    )
  SELECT queue_id, queue, depth, depth - held AS ready, held, enqueued, consumed, window_ms,
    CASE WHEN window_ms > 0 THEN window_in * 1000.0 / window_ms ELSE 0.0 END AS enqueue_per_sec,
    CASE WHEN window_ms > 0 THEN window_out * 1000.0 / window_ms ELSE 0.0 END AS dequeue_per_sec,
    CASE
      WHEN depth = 0 THEN 'empty'
      WHEN window_out > window_in THEN 'draining'
      WHEN window_in > window_out THEN 'growing'
      ELSE 'standing'
    END AS drain_state,
    CASE WHEN depth > 0 AND window_out > window_in
      THEN depth * 1.0 * window_ms / (window_out - window_in) END AS drain_ms,
    CASE WHEN window_out > 0 THEN depth * 1.0 * window_ms / window_out END AS drain_ms_without_enqueues,
    now_ms AS as_of_ms, strftime('%Y-%m-%dT%H:%M:%fZ', now_ms / 1000.0, 'unixepoch') AS as_of
  FROM counted;
`;

/** Where a window begins. */
export interface RateMark {
  fromMs: number;
  fromEnqueued: number;
  fromConsumed: number;
}

export class RateMarks {
  readonly #nameOf: (queueId: number) => string | undefined;
  readonly #mark: SqliteStatement;
  readonly #from: SqliteStatement;
  readonly #markedAt = new Map<number, number>();

  constructor(file: SqliteFile, nameOf: (queueId: number) => string | undefined) {
    this.#nameOf = nameOf;
    this.#mark = file.prepare(
      `INSERT INTO rate_mark
         SELECT queue, name, now, enqueued, consumed, now, enqueued, consumed FROM (
           SELECT @queueId AS queue, @name AS name, @nowMs AS now,
             coalesce((SELECT enqueued FROM queue_total WHERE queue_id = @queueId), 0) AS enqueued,
             coalesce((SELECT consumed FROM queue_total WHERE queue_id = @queueId), 0) AS consumed
         ) WHERE true
       ON CONFLICT (queue_id) DO UPDATE SET
         name = excluded.name, from_ms = next_ms, from_enqueued = next_enqueued, from_consumed = next_consumed,
         next_ms = excluded.next_ms, next_enqueued = excluded.next_enqueued, next_consumed = excluded.next_consumed
       WHERE excluded.next_ms - next_ms >= @leastMs`,
    );
    this.#from = file.prepare(
      `SELECT from_ms AS fromMs, from_enqueued AS fromEnqueued, from_consumed AS fromConsumed
       FROM rate_mark WHERE queue_id = ?`,
    );
  }

  /** In a commit, before it counts what it changes. */
  beforeCommit(queueId: number): void {
    const now = performance.now();
    const markedAt = this.#markedAt.get(queueId);
    if (markedAt !== undefined && now - markedAt < limits.rateWindowMs) return;
    this.#markedAt.set(queueId, now);
    const name = this.#nameOf(queueId);
    if (name === undefined) return;
    this.#mark.run({ queueId, name, nowMs: Date.now(), leastMs: limits.rateWindowMs });
  }

  /** Where the window begins; undefined before the first commit. */
  from(queueId: number): RateMark | undefined {
    return this.#from.get(queueId) as RateMark | undefined;
  }
}
