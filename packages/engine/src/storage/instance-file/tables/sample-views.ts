/**
 * Views for people: with SQLite's shell, `SELECT * FROM shardlab_queues`. `docs/monitoring.md` explains each column and
 * names Oracle's counterpart.
 *
 * Figures that only memory knows come from the samples (`sample-table.ts`), so each row says as of when it holds; what the
 * tables of the file hold is counted when the view is read. Times are UTC. The views need SQLite 3.37 or newer.
 */
import type { TableModule } from './table-module.ts';

/** When the figures of a row were last confirmed, and whether the instance has restarted since. */
const asOfColumns = (row: string) => `
  ${asOfMsExpression(row)} AS as_of_ms,
  strftime('%Y-%m-%dT%H:%M:%fZ', ${asOfMsExpression(row)} / 1000.0, 'unixepoch') AS as_of,
  ${row}.epoch <> (SELECT value FROM meta WHERE key = 'epoch') AS before_restart`;

/** `max` with two arguments is a scalar function; the inner SELECT is null before the first sample of the instance. */
const asOfMsExpression = (row: string) =>
  `coalesce((SELECT max(${row}.as_of_ms, as_of_ms) FROM sample_instance WHERE epoch = ${row}.epoch), ${row}.as_of_ms)`;

/** The same rules as `model/rate-window.ts`, in SQL. */
const rateColumns = (row: string) => `
  ${row}.window_ms,
  CASE WHEN ${row}.window_ms > 0 THEN ${row}.window_in * 1000.0 / ${row}.window_ms ELSE 0.0 END AS enqueue_per_sec,
  CASE WHEN ${row}.window_ms > 0 THEN ${row}.window_out * 1000.0 / ${row}.window_ms ELSE 0.0 END AS dequeue_per_sec,
  CASE
    WHEN ${row}.backlog = 0 THEN 'empty'
    WHEN ${row}.window_out > ${row}.window_in THEN 'draining'
    WHEN ${row}.window_in > ${row}.window_out THEN 'growing'
    ELSE 'steady'
  END AS drain_state,
  CASE WHEN ${row}.backlog > 0 AND ${row}.window_out > ${row}.window_in
    THEN ${row}.backlog * 1.0 * ${row}.window_ms / (${row}.window_out - ${row}.window_in) END AS drain_ms,
  CASE WHEN ${row}.window_out > 0
    THEN ${row}.backlog * 1.0 * ${row}.window_ms / ${row}.window_out END AS drain_ms_without_enqueues`;

const queuesView = `
  CREATE VIEW shardlab_queues AS
  WITH
    sum_of_shards AS (
      SELECT queue_id, count(DISTINCT shard) AS shards, sum(enqueued) AS enqueued, sum(backlog) AS backlog,
        sum(held) AS held, sum(paused) AS paused, max(window_ms) AS window_ms, sum(window_in) AS window_in,
        sum(window_out) AS window_out, min(epoch) AS epoch, min(as_of_ms) AS as_of_ms
      FROM sample_shard GROUP BY queue_id
    ),
    moved AS (
      SELECT queue_id, sum(arrived) AS moved_in, sum(departed) AS moved_out FROM (
        SELECT queue_id, messages_total AS arrived, 0 AS departed FROM forwarded_in
        UNION ALL SELECT queue_id, 0, messages_total FROM forwarded_out
      ) GROUP BY queue_id
    ),
    not_due AS (SELECT queue_id, count(*) AS messages FROM delayed GROUP BY queue_id),
    owned AS (SELECT queue_id, count(*) AS partitions FROM partition WHERE queue_id IS NOT NULL GROUP BY queue_id)
  SELECT queue_id, name AS queue, sample_queue.type, durability, sums.shards,
    coalesce(owned.partitions, 0) AS partitions, sums.backlog AS depth,
    CASE sample_queue.type WHEN 'topic' THEN sums.backlog ELSE sums.backlog - held - paused END AS ready,
    held, paused, coalesce(not_due.messages, 0) AS not_due, enqueued, enqueued - sums.backlog AS consumed,
    coalesce(moved_in, 0) AS moved_in, coalesce(moved_out, 0) AS moved_out,
    ${rateColumns('sums')}, ${asOfColumns('sums')}
  FROM sample_queue JOIN sum_of_shards AS sums USING (queue_id)
    LEFT JOIN not_due USING (queue_id) LEFT JOIN owned USING (queue_id) LEFT JOIN moved USING (queue_id);`;

const shardsView = `
  CREATE VIEW shardlab_shards AS
  WITH owned AS (
    SELECT queue_id, shard, count(*) AS partitions FROM partition WHERE queue_id IS NOT NULL GROUP BY queue_id, shard
  )
  SELECT queue_id, name AS queue, s.shard, s.priority, coalesce(owned.partitions, 0) AS partitions,
    s.backlog AS depth,
    CASE sample_queue.type WHEN 'topic' THEN s.backlog ELSE s.backlog - s.held - s.paused END AS ready,
    s.held, s.paused, s.enqueued, s.enqueued - s.backlog AS consumed, ${rateColumns('s')}, ${asOfColumns('s')}
  FROM sample_shard AS s JOIN sample_queue USING (queue_id) LEFT JOIN owned USING (queue_id, shard);`;

const subscribersView = `
  CREATE VIEW shardlab_subscribers AS
  SELECT queue_id, sample_queue.name AS queue, s.shard, s.subscriber AS subscriber_id, s.name AS subscriber,
    s.durable, s.first_seq, s.watermark, s.position, s.backlog AS depth, s.backlog - s.held - s.paused AS ready,
    s.held, s.paused, s.dequeued, s.last_dequeue_ms, s.oldest_ready_ms, ${rateColumns('s')}, ${asOfColumns('s')}
  FROM sample_subscriber AS s JOIN sample_queue USING (queue_id);`;

/** The owner of a partition is read from the pool, so that figures of an earlier owner are never shown. */
const partitionsView = `
  CREATE VIEW shardlab_partitions AS
  WITH pool AS (
    SELECT partition, queue_id, shard, first_seq,
      lead(first_seq) OVER (PARTITION BY queue_id, shard ORDER BY first_seq) AS next_first_seq
    FROM partition
  )
  SELECT pool.partition, pool.queue_id, sample_queue.name AS queue, pool.shard, pool.first_seq,
    CASE
      WHEN pool.queue_id IS NULL THEN 'free'
      WHEN s.state = 'filling' AND next_first_seq IS NOT NULL THEN 'full'
      ELSE coalesce(s.state, CASE WHEN next_first_seq IS NULL THEN 'filling' ELSE 'full' END)
    END AS state,
    s.messages, s.terminal, s.messages - s.terminal AS live, s.bytes, s.fill, ${asOfColumns('s')}
  FROM pool LEFT JOIN sample_partition AS s
      ON s.partition = pool.partition AND s.queue_id = pool.queue_id AND s.first_seq = pool.first_seq
    LEFT JOIN sample_queue ON sample_queue.queue_id = pool.queue_id;`;

const partitionStatesView = `
  CREATE VIEW shardlab_partition_states AS
  SELECT queue_id, queue, shard, state, count(*) AS partitions, sum(live) AS live, sum(bytes) AS bytes
  FROM shardlab_partitions GROUP BY queue_id, queue, shard, state;`;

const cacheView = `
  CREATE VIEW shardlab_cache AS
  WITH cursors AS (
    SELECT queue_id, shard, sum(cache_hits) AS hits, sum(cache_misses) AS misses, sum(cache_evictions) AS evictions
    FROM sample_subscriber GROUP BY queue_id, shard
  )
  SELECT queue_id, name AS queue, s.shard, s.cache_bytes AS bytes, coalesce(hits, 0) AS hits,
    coalesce(misses, 0) AS misses, coalesce(evictions, 0) AS evictions,
    CASE WHEN hits + misses > 0 THEN hits * 1.0 / (hits + misses) END AS hit_ratio, ${asOfColumns('s')}
  FROM sample_shard AS s JOIN sample_queue USING (queue_id) LEFT JOIN cursors USING (queue_id, shard);`;

const instanceView = `
  CREATE VIEW shardlab_instance AS
  SELECT s.instance, s.epoch, s.commits, s.groups, s.cache_bytes, s.cache_bytes_max,
    (SELECT count(*) FROM partition WHERE queue_id IS NULL) AS partitions_free,
    (SELECT count(*) FROM partition WHERE queue_id IS NOT NULL) AS partitions_used, ${asOfColumns('s')}
  FROM sample_instance AS s;`;

export const sampleViews = {
  schemaSql: [
    instanceView,
    queuesView,
    shardsView,
    subscribersView,
    partitionsView,
    partitionStatesView,
    cacheView,
  ].join('\n'),
} satisfies TableModule;
