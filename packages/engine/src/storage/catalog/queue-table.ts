/** The queues of the catalog. The columns of a queue's settings are derived from `api/queue-settings.ts`. */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { defaultQueueSettings, queueSettingNames, queueSettings } from '../../api/queue-settings.ts';
import type { QueueId } from '../../model/ids.ts';
import { exceptionQueueName, type NewQueueRow, type QueueRow } from '../../model/queue-row.ts';
import { columnName, insertSql, selectList } from '../sqlite/columns.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

const settingColumnsSql = queueSettingNames
  .map((name) => {
    const { type, nullable, values } = queueSettings[name].column;
    const column = columnName(name);
    const check = values && ` CHECK (${column} IN (${values.map((value) => `'${value}'`).join(', ')}))`;
    return `${column} ${type}${nullable ? '' : ' NOT NULL'}${check ?? ''},`;
  })
  .join('\n    ');

export const queueTableSql = `
  CREATE TABLE queue (
    queue_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: rows elsewhere of a missing queue are garbage
    name TEXT NOT NULL UNIQUE,
    ${settingColumnsSql}
    exception_queue_id INTEGER,                 -- gets messages that reached attempts_max
    enqueue_enabled INTEGER NOT NULL DEFAULT 1,
    dequeue_enabled INTEGER NOT NULL DEFAULT 1
  ) STRICT;
`;

const insertedColumns = ['name', ...queueSettingNames, 'exceptionQueueId'];
const storedColumns = ['queueId', ...insertedColumns, 'enqueueEnabled', 'dequeueEnabled'];
/** SQLite has no booleans. */
const booleanColumns = [
  ...queueSettingNames.filter((name) => queueSettings[name].column.boolean),
  'enqueueEnabled',
  'dequeueEnabled',
];

export interface EnabledHalves {
  enqueue?: boolean | undefined;
  dequeue?: boolean | undefined;
}

/** All methods but `read` are called in a write transaction of the catalog. */
export class QueueTable {
  readonly #file: SqliteFile;

  constructor(catalog: SqliteFile) {
    this.#file = catalog;
  }

  /** Reads the queues in order of creation. */
  read(): QueueRow[] {
    const rows = this.#file
      .prepare(`SELECT ${selectList(storedColumns)} FROM queue ORDER BY queue_id`)
      .all() as (QueueRow & Record<string, unknown>)[];
    for (const row of rows) for (const name of booleanColumns) row[name] = row[name] === 1;
    return rows;
  }

  /** Creates the queue, if asked to with its exception queue. Throws `QUEUE_EXISTS`, or `QUEUE_SPEC_INVALID` past the number of queues. */
  create(row: NewQueueRow, { withExceptionQueue }: { withExceptionQueue: boolean }): void {
    if (this.idOf(row.name) !== undefined) throw queueExists(row.name);
    this.#insert(row, withExceptionQueue ? this.#insertExceptionQueue(row) : null);
  }

  /**
   * Creates the exception queue of a queue that has none yet. A queue of that name that fits is taken, as it may be left from an
   * earlier queue; if it does not fit, the name gets a number. Does nothing if the queue is gone. Throws `QUEUE_SPEC_INVALID`.
   */
  ensureExceptionQueue(name: string): void {
    const rows = this.read();
    const row = rows.find((each) => each.name === name);
    if (row === undefined || row.exceptionQueueId !== null) return;
    const wanted = exceptionQueueOf(row);
    let found = rows.find((each) => each.name === wanted.name);
    for (let number = 2; found !== undefined && !canReceiveExceptions(found, wanted); number += 1) {
      wanted.name = `${exceptionQueueName(name)}-${number}`;
      found = rows.find((each) => each.name === wanted.name);
    }
    const exceptionQueueId = found?.queueId ?? this.#insert(wanted, null);
    this.#file.prepare('UPDATE queue SET exception_queue_id = ? WHERE name = ?').run(exceptionQueueId, name);
  }

  /** A queue of that name that nothing refers to may be one that somebody uses: it is not taken over. */
  #insertExceptionQueue(row: NewQueueRow): QueueId {
    const exceptions = exceptionQueueOf(row);
    if (this.idOf(exceptions.name) !== undefined) {
      throw new QueueError('QUEUE_EXISTS', {
        message: `A queue named ${exceptions.name} already exists, and the exception queue of ${row.name} would have that name: drop it first, or create ${row.name} without attemptsMax`,
        details: { queue: exceptions.name, of: row.name },
      });
    }
    return this.#insert(exceptions, null);
  }

  #insert(row: NewQueueRow, exceptionQueueId: QueueId | null): QueueId {
    const count = this.#file.prepare('SELECT count(*) FROM queue').pluck().get() as number;
    if (count >= limits.queuesMax) {
      throw new QueueError('QUEUE_SPEC_INVALID', { message: `Too many queues (limit ${limits.queuesMax})` });
    }
    const values: Record<string, unknown> = { ...row, exceptionQueueId };
    for (const name of booleanColumns) if (name in values) values[name] = Number(values[name]);
    const { changes, lastInsertRowid } = this.#file
      .prepare(`${insertSql('queue', insertedColumns)} ON CONFLICT DO NOTHING`)
      .run(values);
    if (changes === 0) throw queueExists(row.name);
    return Number(lastInsertRowid);
  }

  /** Undefined if there is no such queue. */
  idOf(name: string): QueueId | undefined {
    return this.#file.prepare('SELECT queue_id FROM queue WHERE name = ?').pluck().get(name) as
      | QueueId
      | undefined;
  }

  /** Throws `QUEUE_IN_USE` for the exception queue of a queue that exists. */
  assertNotExceptionQueue(name: string, queueId: QueueId): void {
    const user = this.#file
      .prepare('SELECT name FROM queue WHERE exception_queue_id = ?')
      .pluck()
      .get(queueId);
    if (user === undefined) return;
    throw new QueueError('QUEUE_IN_USE', {
      message: `${name} is the exception queue of ${String(user)}, and is dropped with it`,
      details: { queue: name, user },
    });
  }

  /** Removes the queue alone. Returns whether it existed. */
  remove(name: string): boolean {
    return this.#file.prepare('DELETE FROM queue WHERE name = ?').run(name).changes === 1;
  }

  removeExceptionQueueOf(queueId: QueueId): void {
    this.#file
      .prepare('DELETE FROM queue WHERE queue_id = (SELECT exception_queue_id FROM queue WHERE queue_id = ?)')
      .run(queueId);
  }

  /** A half that is undefined stays as it is. Returns whether the queue exists. */
  updateEnabled(name: string, { enqueue, dequeue }: EnabledHalves): boolean {
    const toStored = (enabled: boolean | undefined) => (enabled === undefined ? null : Number(enabled));
    const { changes } = this.#file
      .prepare(
        `UPDATE queue SET enqueue_enabled = coalesce(?, enqueue_enabled),
           dequeue_enabled = coalesce(?, dequeue_enabled) WHERE name = ?`,
      )
      .run(toStored(enqueue), toStored(dequeue), name);
    return changes === 1;
  }
}

function queueExists(queue: string): QueueError {
  return new QueueError('QUEUE_EXISTS', { details: { queue } });
}

/** A plain queue of one shard that is stored, indexed and forwarded as its queue is. */
function exceptionQueueOf(row: NewQueueRow): NewQueueRow {
  const { kind, durability, retentionMs, forwarding, correlationIndex } = row;
  return {
    ...defaultQueueSettings,
    attemptsMax: null,
    name: exceptionQueueName(row.name),
    kind,
    durability,
    retentionMs,
    forwarding,
    correlationIndex,
  };
}

/** A move is one commit, so both are in one file, and as durable. */
function canReceiveExceptions(found: QueueRow, { kind, durability }: NewQueueRow): boolean {
  const { type, visibility } = found;
  return (
    found.kind === kind && found.durability === durability && type === 'queue' && visibility === 'commit'
  );
}
