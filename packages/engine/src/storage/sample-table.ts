/**
 * Samples: the figures of an instance that only its memory knows, as of a moment, so that views in its file can show them.
 * A sweep takes them all at one moment and writes the rows that changed since the one before. An instance where nothing
 * changes writes nothing, and all rows are still right as of its last sweep.
 */
import type { SqliteFile } from './sqlite.ts';

/** The epoch tells rows of before a restart; `window_*`: what came and went within so many milliseconds. */
export const sampleTables = `
  CREATE TABLE sample_instance (
    instance INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,     -- rows of this epoch that are older did not change until then
    commits INTEGER NOT NULL,
    groups INTEGER NOT NULL,
    cache_bytes INTEGER NOT NULL,
    cache_bytes_max INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE sample_queue (
    queue_id INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,
    name TEXT NOT NULL,            -- as in the catalog
    type TEXT NOT NULL,
    durability TEXT NOT NULL
  ) STRICT;
  CREATE TABLE sample_shard (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    enqueued INTEGER NOT NULL,
    backlog INTEGER NOT NULL,
    held INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    cache_bytes INTEGER NOT NULL,
    window_ms INTEGER NOT NULL,
    window_in INTEGER NOT NULL,
    window_out INTEGER NOT NULL,
    PRIMARY KEY (queue_id, shard)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sample_subscriber (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,   -- 0: the one consumer of a queue
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,
    name TEXT,
    durable INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    watermark INTEGER NOT NULL,
    position INTEGER NOT NULL,
    backlog INTEGER NOT NULL,
    held INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    dequeued INTEGER NOT NULL,
    last_dequeue_ms INTEGER,
    oldest_ready_ms INTEGER,
    cache_hits INTEGER NOT NULL,
    cache_misses INTEGER NOT NULL,
    cache_evictions INTEGER NOT NULL,
    window_ms INTEGER NOT NULL,
    window_in INTEGER NOT NULL,
    window_out INTEGER NOT NULL,
    PRIMARY KEY (queue_id, shard, subscriber)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sample_partition (
    partition INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    messages INTEGER NOT NULL,
    terminal INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    fill REAL NOT NULL
  ) STRICT;
`;

export interface InstanceSample {
  instance: number;
  commits: number;
  groups: number;
  cacheBytes: number;
  cacheBytesMax: number;
}

export interface QueueSample {
  queueId: number;
  name: string;
  type: string;
  durability: string;
}

export interface ShardSample {
  queueId: number;
  shard: number;
  priority: number;
  enqueued: number;
  backlog: number;
  held: number;
  paused: number;
  cacheBytes: number;
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

export interface SubscriberSample {
  queueId: number;
  shard: number;
  subscriber: number;
  name: string | null;
  durable: number;
  firstSeq: number;
  /** Messages below are terminal for it; those below `position` were handed out at least once. */
  watermark: number;
  position: number;
  backlog: number;
  held: number;
  paused: number;
  /** Committed dequeues since the instance opened. */
  dequeued: number;
  lastDequeueMs: number | null;
  oldestReadyMs: number | null;
  cacheHits: number;
  cacheMisses: number;
  cacheEvictions: number;
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

export interface PartitionSample {
  partition: number;
  queueId: number;
  shard: number;
  firstSeq: number;
  state: string;
  messages: number;
  terminal: number;
  bytes: number;
  fill: number;
}

export interface SampleRows {
  queue: QueueSample;
  shard: ShardSample;
  subscriber: SubscriberSample;
  partition: PartitionSample;
}

export type SampleTable = keyof SampleRows;

/** Some rows of a sweep, all of them as of its moment. */
export interface Sample {
  epoch: number;
  asOfMs: number;
  rows: { [T in SampleTable]: SampleRows[T][] };
  /** With the last rows of a sweep. */
  completes: InstanceSample | null;
}

const columns: { [T in SampleTable]: (keyof SampleRows[T] & string)[] } = {
  queue: ['queueId', 'name', 'type', 'durability'],
  shard: [
    'queueId',
    'shard',
    'priority',
    'enqueued',
    'backlog',
    'held',
    'paused',
    'cacheBytes',
    'windowMs',
    'windowIn',
    'windowOut',
  ],
  subscriber: [
    'queueId',
    'shard',
    'subscriber',
    'name',
    'durable',
    'firstSeq',
    'watermark',
    'position',
    'backlog',
    'held',
    'paused',
    'dequeued',
    'lastDequeueMs',
    'oldestReadyMs',
    'cacheHits',
    'cacheMisses',
    'cacheEvictions',
    'windowMs',
    'windowIn',
    'windowOut',
  ],
  partition: ['partition', 'queueId', 'shard', 'firstSeq', 'state', 'messages', 'terminal', 'bytes', 'fill'],
};

const tables = Object.keys(columns) as SampleTable[];

/** Writes rows over those of before; the last ones of a sweep remove what has no row in this epoch any more. */
export function writeSample(file: SqliteFile, { epoch, asOfMs, rows, completes }: Sample): void {
  for (const table of tables) writeRows(file, table, rows[table], { epoch, asOfMs });
  if (completes === null) return;
  for (const table of tables) file.prepare(`DELETE FROM sample_${table} WHERE epoch <> ?`).run(epoch);
  const { instance, commits, groups, cacheBytes, cacheBytesMax } = completes;
  file
    .prepare('INSERT OR REPLACE INTO sample_instance VALUES (?, ?, ?, ?, ?, ?, ?)')
    .run(instance, epoch, asOfMs, commits, groups, cacheBytes, cacheBytesMax);
}

function writeRows<T extends SampleTable>(
  file: SqliteFile,
  table: T,
  rows: readonly SampleRows[T][],
  { epoch, asOfMs }: Pick<Sample, 'epoch' | 'asOfMs'>,
): void {
  if (rows.length === 0) return;
  const names = columns[table];
  const insert = file.prepare(
    `INSERT OR REPLACE INTO sample_${table} (epoch, as_of_ms, ${names.map(snakeCase).join(', ')})
     VALUES (?, ?${', ?'.repeat(names.length)})`,
  );
  for (const row of rows) insert.run(epoch, asOfMs, ...names.map((name) => row[name]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The partition was emptied: what was sampled of it is no more. */
export function deletePartitionSample(file: SqliteFile, partition: number): void {
  file.prepare('DELETE FROM sample_partition WHERE partition = ?').run(partition);
}

export function deleteSamplesOfQueue(file: SqliteFile, queueId: number): void {
  for (const table of tables) file.prepare(`DELETE FROM sample_${table} WHERE queue_id = ?`).run(queueId);
}
