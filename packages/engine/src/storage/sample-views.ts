/**
 * What anyone with SQLite's shell can ask of an instance's file: `SELECT * FROM shardlab_queues`. `docs/monitoring.md`
 * says what each column is, and which one of Oracle's it corresponds to.
 *
 * Figures of memory come from the samples (`sample-table.ts`), so each row says as of when it holds; what lies in tables
 * of the file is counted as it is now. Times are in UTC. Nothing newer than SQLite 3.37 is asked of the shell.
 */

/** When a row's figures were last seen to hold, and whether the instance was opened again since. */
const asOf = (row: string) => `
  ${asOfMs(row)} AS as_of_ms,
  strftime('%Y-%m-%dT%H:%M:%fZ', ${asOfMs(row)} / 1000.0, 'unixepoch') AS as_of,
  ${row}.epoch <> (SELECT value FROM meta WHERE key = 'epoch') AS before_restart`;

/** Scalar `max`; null if there is no row of the instance yet. */
const asOfMs = (row: string) =>
  `coalesce((SELECT max(${row}.as_of_ms, as_of_ms) FROM sample_instance WHERE epoch = ${row}.epoch), ${row}.as_of_ms)`;

/** `core/rate-window.ts` in SQL. */
const flow = (row: string) => `
  ${row}.window_ms,
  CASE WHEN ${row}.window_ms > 0 THEN ${row}.window_in * 1000.0 / ${row}.window_ms ELSE 0.0 END AS enqueue_per_sec,
  CASE WHEN ${row}.window_ms > 0 THEN ${row}.window_out * 1000.0 / ${row}.window_ms ELSE 0.0 END AS dequeue_per_sec,
  CASE
    WHEN ${row}.backlog = 0 THEN 'empty'
    WHEN ${row}.window_out > ${row}.window_in THEN 'draining'
    WHEN ${row}.window_in > ${row}.window_out THEN 'growing'
    ELSE 'standing'
  END AS drain_state,
  CASE WHEN ${row}.backlog > 0 AND ${row}.window_out > ${row}.window_in
    THEN ${row}.backlog * 1.0 * ${row}.window_ms / (${row}.window_out - ${row}.window_in) END AS drain_ms,
  CASE WHEN ${row}.window_out > 0
    THEN ${row}.backlog * 1.0 * ${row}.window_ms / ${row}.window_out END AS drain_ms_without_enqueues`;

const queues = `
  CREATE VIEW shardlab_queues AS
  WITH
    sum_of_shards AS (
      SELECT queue_id, count(DISTINCT shard) AS shards, sum(enqueued) AS enqueued, sum(backlog) AS backlog,
        sum(held) AS held, sum(paused) AS paused, max(window_ms) AS window_ms, sum(window_in) AS window_in,
        sum(window_out) AS window_out, min(epoch) AS epoch, min(as_of_ms) AS as_of_ms
      FROM sample_shard GROUP BY queue_id
    ),
    moved AS (
      SELECT queue_id, sum(came) AS moved_in, sum(went) AS moved_out FROM (
        SELECT queue_id, messages AS came, 0 AS went FROM borrowed UNION ALL SELECT queue_id, 0, messages FROM lent
      ) GROUP BY queue_id
    ),
    not_due AS (SELECT queue_id, count(*) AS messages FROM delayed GROUP BY queue_id),
    owned AS (SELECT queue_id, count(*) AS partitions FROM partition WHERE queue_id IS NOT NULL GROUP BY queue_id)
  SELECT queue_id, name AS queue, sample_queue.type, durability, sums.shards,
    coalesce(owned.partitions, 0) AS partitions, sums.backlog AS depth,
    CASE sample_queue.type WHEN 'topic' THEN sums.backlog ELSE sums.backlog - held - paused END AS ready,
    held, paused, coalesce(not_due.messages, 0) AS not_due, enqueued, enqueued - sums.backlog AS consumed,
    coalesce(moved_in, 0) AS moved_in, coalesce(moved_out, 0) AS moved_out,
    ${flow('sums')}, ${asOf('sums')}
  FROM sample_queue JOIN sum_of_shards AS sums USING (queue_id)
    LEFT JOIN not_due USING (queue_id) LEFT JOIN owned USING (queue_id) LEFT JOIN moved USING (queue_id);`;

const shards = `
  CREATE VIEW shardlab_shards AS
  WITH owned AS (
    SELECT queue_id, shard, count(*) AS partitions FROM partition WHERE queue_id IS NOT NULL GROUP BY queue_id, shard
  )
  SELECT queue_id, name AS queue, s.shard, s.priority, coalesce(owned.partitions, 0) AS partitions,
    s.backlog AS depth,
    CASE sample_queue.type WHEN 'topic' THEN s.backlog ELSE s.backlog - s.held - s.paused END AS ready,
    s.held, s.paused, s.enqueued, s.enqueued - s.backlog AS consumed, ${flow('s')}, ${asOf('s')}
  FROM sample_shard AS s JOIN sample_queue USING (queue_id) LEFT JOIN owned USING (queue_id, shard);`;

const subscribers = `
  CREATE VIEW shardlab_subscribers AS
  SELECT queue_id, sample_queue.name AS queue, s.shard, s.subscriber AS subscriber_id, s.name AS subscriber,
    s.durable, s.first_seq, s.watermark, s.position, s.backlog AS depth, s.backlog - s.held - s.paused AS ready,
    s.held, s.paused, s.dequeued, s.last_dequeue_ms, s.oldest_ready_ms, ${flow('s')}, ${asOf('s')}
  FROM sample_subscriber AS s JOIN sample_queue USING (queue_id);`;

/** Who owns a partition is asked of the pool itself: figures of another owner are never shown. */
const partitions = `
  CREATE VIEW shardlab_partitions AS
  WITH own AS (
    SELECT partition, queue_id, shard, first_seq,
      lead(first_seq) OVER (PARTITION BY queue_id, shard ORDER BY first_seq) AS next_first_seq
    FROM partition
  )
  SELECT own.partition, own.queue_id, sample_queue.name AS queue, own.shard, own.first_seq,
    CASE
      WHEN own.queue_id IS NULL THEN 'free'
      WHEN s.state = 'filling' AND next_first_seq IS NOT NULL THEN 'full'
      ELSE coalesce(s.state, CASE WHEN next_first_seq IS NULL THEN 'filling' ELSE 'full' END)
    END AS state,
    s.messages, s.terminal, s.messages - s.terminal AS live, s.bytes, s.fill, ${asOf('s')}
  FROM own LEFT JOIN sample_partition AS s
      ON s.partition = own.partition AND s.queue_id = own.queue_id AND s.first_seq = own.first_seq
    LEFT JOIN sample_queue ON sample_queue.queue_id = own.queue_id;`;

const partitionStates = `
  CREATE VIEW shardlab_partition_states AS
  SELECT queue_id, queue, shard, state, count(*) AS partitions, sum(live) AS live, sum(bytes) AS bytes
  FROM shardlab_partitions GROUP BY queue_id, queue, shard, state;`;

const cache = `
  CREATE VIEW shardlab_cache AS
  WITH readers AS (
    SELECT queue_id, shard, sum(cache_hits) AS hits, sum(cache_misses) AS misses, sum(cache_evictions) AS evictions
    FROM sample_subscriber GROUP BY queue_id, shard
  )
  SELECT queue_id, name AS queue, s.shard, s.cache_bytes AS bytes, coalesce(hits, 0) AS hits,
    coalesce(misses, 0) AS misses, coalesce(evictions, 0) AS evictions,
    CASE WHEN hits + misses > 0 THEN hits * 1.0 / (hits + misses) END AS hit_ratio, ${asOf('s')}
  FROM sample_shard AS s JOIN sample_queue USING (queue_id) LEFT JOIN readers USING (queue_id, shard);`;

const instance = `
  CREATE VIEW shardlab_instance AS
  SELECT s.instance, s.epoch, s.commits, s.groups, s.cache_bytes, s.cache_bytes_max,
    (SELECT count(*) FROM partition WHERE queue_id IS NULL) AS partitions_free,
    (SELECT count(*) FROM partition WHERE queue_id IS NOT NULL) AS partitions_used, ${asOf('s')}
  FROM sample_instance AS s;`;

export const sampleViews = [instance, queues, shards, subscribers, partitions, partitionStates, cache].join(
  '\n',
);
