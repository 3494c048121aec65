/**
 * The tables of samples (`model/sample.ts`), which the views of the file show. The sampler takes all figures at one moment
 * and writes the rows that changed since the last time. An idle instance writes nothing, and its rows still hold.
 */
import type { LostMessages, RecoveredInstance } from '../../../model/recovered-instance.ts';
import type { Sample, SampleRows, SampleTable } from '../../../model/sample.ts';
import { insertSql } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

/** A row of an earlier epoch is of before a restart. `window_in` and `window_out`: messages in and out within `window_ms`. */
const schemaSql = `
  CREATE TABLE sample_instance (
    instance INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL,     -- older rows of this epoch have not changed until then
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

const sampleColumns: { [T in SampleTable]: (keyof SampleRows[T] & string)[] } = {
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

const instanceColumns = [
  'instance',
  'epoch',
  'asOfMs',
  'commits',
  'groups',
  'cacheBytes',
  'cacheBytesMax',
] as const;

const sampleTableNames = Object.keys(sampleColumns) as SampleTable[];

export const sampleTables = {
  schemaSql,
  tablesByPartition: ['sample_partition'],
  createAppliers: (file): WriteAppliers<'sample'> => ({ sample: ({ sample }) => writeSample(file, sample) }),
  recover: (file): Pick<RecoveredInstance, 'lostMessages'> => ({ lostMessages: readLostMessages(file) }),
  deleteQueue(file, queueId) {
    for (const table of sampleTableNames)
      file.prepare(`DELETE FROM sample_${table} WHERE queue_id = ?`).run(queueId);
  },
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM sample_subscriber WHERE subscriber = ?').run(subscriber);
  },
} satisfies TableModule;

const selectLostSql = `
  SELECT queue_id AS queueId, sum(backlog) AS messages
  FROM sample_shard JOIN sample_queue USING (queue_id)
  WHERE durability = 'memory' AND sample_shard.epoch = (SELECT value FROM meta WHERE key = 'epoch') - 1
  GROUP BY queue_id HAVING messages > 0`;

/** Reads the samples of the opening before. Damage in them must not keep an instance from opening. */
function readLostMessages(file: SqliteFile): LostMessages[] {
  try {
    return file.prepare(selectLostSql).all() as LostMessages[];
  } catch {
    return [];
  }
}

/** Replaces rows; the last part of a sample also deletes the rows of earlier epochs. */
function writeSample(file: SqliteFile, { epoch, asOfMs, rows, instanceOnLastRows }: Sample): void {
  for (const table of sampleTableNames) writeSampleRows(file, table, rows[table], { epoch, asOfMs });
  if (instanceOnLastRows === null) return;
  for (const table of sampleTableNames)
    file.prepare(`DELETE FROM sample_${table} WHERE epoch <> ?`).run(epoch);
  file
    .prepare(insertSql('sample_instance', instanceColumns, 'INSERT OR REPLACE'))
    .run({ ...instanceOnLastRows, epoch, asOfMs });
}

function writeSampleRows<T extends SampleTable>(
  file: SqliteFile,
  table: T,
  rows: readonly SampleRows[T][],
  at: Pick<Sample, 'epoch' | 'asOfMs'>,
): void {
  if (rows.length === 0) return;
  const columns = ['epoch', 'asOfMs', ...sampleColumns[table]];
  const insert = file.prepare(insertSql(`sample_${table}`, columns, 'INSERT OR REPLACE'));
  for (const row of rows) insert.run({ ...row, ...at });
}
