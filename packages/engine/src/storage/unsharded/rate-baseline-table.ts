/**
 * Baselines of the rates of unsharded queues: the totals at a moment from which messages are counted. Once a baseline is old
 * enough, the next commit of any process advances it, so that no transaction is made for it alone. Rates are counted up to now,
 * so they fall when commits stop.
 */

import { limits } from '../../api/limits.ts';
import type { QueueId } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';

/** As in `model/rate-window.ts`, the window starts at the older of two baselines, which advance together. */
export const rateBaselineSql = `
  CREATE TABLE rate_baseline (
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
    holds AS (
      SELECT queue_id, count(*) AS held, 0 AS of_topic FROM delivery WHERE holder > 0 GROUP BY queue_id
      UNION ALL SELECT topic_subscriber.queue_id, count(*), 1 FROM topic_subscriber JOIN recipient USING (subscriber)
      WHERE holder > 0 GROUP BY topic_subscriber.queue_id
    ),
    totals AS (
      SELECT queue_id, name AS queue, enqueued, consumed, enqueued - consumed AS depth, coalesce(held, 0) AS held,
        coalesce(of_topic, 0) AS of_topic,
        coalesce(max(0, now_ms - from_ms), 0) AS window_ms, coalesce(enqueued - from_enqueued, 0) AS window_in,
        coalesce(consumed - from_consumed, 0) AS window_out, now_ms
      FROM at, queue_total LEFT JOIN rate_baseline USING (queue_id) LEFT JOIN holds USING (queue_id)
      WHERE queue_id > 0 -- of a queue that was sealed and dropped only the seal is left
        AND (sealed_at IS NULL OR EXISTS (SELECT 1 FROM message WHERE message.queue_id = queue_total.queue_id))
    )
  SELECT queue_id, queue, depth, depth - iif(of_topic, 0, held) AS ready, held, enqueued, consumed, window_ms,
    CASE WHEN window_ms > 0 THEN window_in * 1000.0 / window_ms ELSE 0.0 END AS enqueue_per_sec,
    CASE WHEN window_ms > 0 THEN window_out * 1000.0 / window_ms ELSE 0.0 END AS dequeue_per_sec,
    CASE
      WHEN depth = 0 THEN 'empty'
      WHEN window_out > window_in THEN 'draining'
      WHEN window_in > window_out THEN 'growing'
      ELSE 'steady'
    END AS drain_state,
    CASE WHEN depth > 0 AND window_out > window_in
      THEN depth * 1.0 * window_ms / (window_out - window_in) END AS drain_ms,
    CASE WHEN window_out > 0 THEN depth * 1.0 * window_ms / window_out END AS drain_ms_without_enqueues,
    now_ms AS as_of_ms, strftime('%Y-%m-%dT%H:%M:%fZ', now_ms / 1000.0, 'unixepoch') AS as_of
  FROM totals;

  CREATE VIEW shardlab_subscribers AS
  WITH holds AS (SELECT subscriber, count(*) AS held FROM recipient WHERE holder > 0 GROUP BY subscriber)
  SELECT topic_subscriber.queue_id, rate_baseline.name AS queue, subscriber AS subscriber_id,
    topic_subscriber.name AS subscriber, durable, enqueued - consumed AS depth,
    enqueued - consumed - coalesce(held, 0) AS ready, coalesce(held, 0) AS held, enqueued, consumed
  FROM topic_subscriber LEFT JOIN rate_baseline USING (queue_id) LEFT JOIN holds USING (subscriber)
  WHERE ended = 0;
`;

/** The start of a window, and the totals at that moment. */
export interface RateBaseline {
  fromMs: number;
  fromEnqueued: number;
  fromConsumed: number;
}

export class RateBaselines {
  readonly #clock: Clock;
  readonly #queueNameOf: (queueId: QueueId) => string | undefined;
  readonly #upsertBaseline: SqliteStatement;
  readonly #selectBaseline: SqliteStatement;
  readonly #deleteBaseline: SqliteStatement;
  readonly #advancedAtMs = new Map<QueueId, number>();

  constructor(file: SqliteFile, clock: Clock, nameOf: (queueId: QueueId) => string | undefined) {
    this.#clock = clock;
    this.#queueNameOf = nameOf;
    this.#upsertBaseline = file.prepare(
      `INSERT INTO rate_baseline
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
    this.#selectBaseline = file.prepare(
      `SELECT from_ms AS fromMs, from_enqueued AS fromEnqueued, from_consumed AS fromConsumed
       FROM rate_baseline WHERE queue_id = ?`,
    );
    this.#deleteBaseline = file.prepare('DELETE FROM rate_baseline WHERE queue_id = ?');
  }

  /** The queue is gone. */
  delete(queueId: QueueId): void {
    this.#deleteBaseline.run(queueId);
    this.#advancedAtMs.delete(queueId);
  }

  /** Inside a commit, before it changes the totals. */
  advanceBeforeCommit(queueId: QueueId): void {
    const now = this.#clock.monotonicMs();
    const advancedAt = this.#advancedAtMs.get(queueId);
    if (advancedAt !== undefined && now - advancedAt < limits.rateWindowMs) return;
    this.#advancedAtMs.set(queueId, now);
    const name = this.#queueNameOf(queueId);
    if (name === undefined) return;
    this.#upsertBaseline.run({ queueId, name, nowMs: this.#clock.epochMs(), leastMs: limits.rateWindowMs });
  }

  /** Undefined before the first commit. */
  baselineOf(queueId: QueueId): RateBaseline | undefined {
    return this.#selectBaseline.get(queueId) as RateBaseline | undefined;
  }
}
