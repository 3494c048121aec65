/**
 * The catalog: which queues exist in the cluster, and which process hosts which instance. One small file that every
 * process of the cluster opens; its changes are rare, so they are made synchronously and in full durability.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Durability, QueueKind } from '../types.ts';
import { migrate } from './format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from './sqlite.ts';

const steps = [
  `CREATE TABLE queue (
    queue_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: what belongs to a missing one is garbage
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('sharded', 'unsharded')),
    shards INTEGER NOT NULL,
    durability TEXT NOT NULL CHECK (durability IN ('durable', 'relaxed', 'memory')),
    enqueue_enabled INTEGER NOT NULL DEFAULT 1,
    dequeue_enabled INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE TABLE host (
    instance INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL -- tells the process from a later one of the same pid
  ) STRICT;`,
];

export interface QueueRow {
  queueId: number;
  name: string;
  kind: QueueKind;
  shards: number;
  durability: Durability;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
}

/** SQLite has no booleans. */
interface StoredQueue extends Omit<QueueRow, 'enqueueEnabled' | 'dequeueEnabled'> {
  enqueueEnabled: number;
  dequeueEnabled: number;
}

/** DDL of another process is waited for this long; longer means that it hangs. */
const busyMs = 5_000;

const columns = `queue_id AS queueId, name, kind, shards, durability,
  enqueue_enabled AS enqueueEnabled, dequeue_enabled AS dequeueEnabled`;

export class Catalog {
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #dataVersion: () => number;

  constructor(dir: string) {
    this.#path = join(dir, 'catalog.db');
    try {
      mkdirSync(dir, { recursive: true });
    } catch (error) {
      throw new QueueError('STORAGE_READ_ONLY', { details: { path: dir }, cause: error });
    }
    this.#file = openSqlite({ path: this.#path, busyMs });
    mapSqliteErrors(this.#path, () => migrate(this.#file, steps));
    const dataVersion = this.#file.prepare('PRAGMA data_version').pluck();
    this.#dataVersion = () => dataVersion.get() as number;
  }

  /** Changes whenever another connection committed a change. */
  version(): number {
    return mapSqliteErrors(this.#path, this.#dataVersion);
  }

  queues(): QueueRow[] {
    const rows = this.#run(() => this.#file.prepare(`SELECT ${columns} FROM queue ORDER BY queue_id`).all());
    return (rows as StoredQueue[]).map((row) => ({
      ...row,
      enqueueEnabled: row.enqueueEnabled === 1,
      dequeueEnabled: row.dequeueEnabled === 1,
    }));
  }

  /** Throws `QUEUE_EXISTS`, or `QUEUE_SPEC_INVALID` past the number of queues. */
  createQueue(row: Pick<QueueRow, 'name' | 'kind' | 'shards' | 'durability'>): void {
    this.#run(() =>
      this.#file
        .transaction(() => {
          const count = this.#file.prepare('SELECT count(*) FROM queue').pluck().get() as number;
          if (count >= limits.queuesMax) {
            throw new QueueError('QUEUE_SPEC_INVALID', {
              sentence: `There are ${count} queues, as many as may be`,
            });
          }
          const made = this.#file
            .prepare(
              'INSERT INTO queue (name, kind, shards, durability) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
            )
            .run(row.name, row.kind, row.shards, row.durability);
          if (made.changes === 0) throw new QueueError('QUEUE_EXISTS', { details: { queue: row.name } });
        })
        .immediate(),
    );
  }

  /** Returns whether there was one. */
  dropQueue(name: string): boolean {
    return this.#run(() => this.#file.prepare('DELETE FROM queue WHERE name = ?').run(name).changes === 1);
  }

  /** Enables or disables the halves of a queue; what is undefined stays as it is. */
  enableQueue(name: string, which: { enqueue?: boolean | undefined; dequeue?: boolean | undefined }): void {
    const flag = (value: boolean | undefined) => (value === undefined ? null : Number(value));
    const changed = this.#run(() =>
      this.#file
        .prepare(
          `UPDATE queue SET enqueue_enabled = coalesce(?, enqueue_enabled),
             dequeue_enabled = coalesce(?, dequeue_enabled) WHERE name = ?`,
        )
        .run(flag(which.enqueue), flag(which.dequeue), name),
    );
    if (changed.changes === 0) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
  }

  /** Takes the instance for this process. Throws `INSTANCE_IN_USE`, naming the process that has it. */
  claimInstance(instance: number): void {
    this.#run(() =>
      this.#file
        .transaction(() => {
          const host = this.#file
            .prepare('SELECT pid, pid_started FROM host WHERE instance = ?')
            .get(instance) as { pid: number; pid_started: string } | undefined;
          if (host !== undefined && processStarted(host.pid) === host.pid_started) {
            throw new QueueError('INSTANCE_IN_USE', {
              sentence: `Instance ${instance} is hosted by process ${host.pid}`,
              details: { instance, pid: host.pid },
            });
          }
          this.#file
            .prepare('INSERT OR REPLACE INTO host (instance, pid, pid_started) VALUES (?, ?, ?)')
            .run(instance, process.pid, processStarted(process.pid) ?? '');
        })
        .immediate(),
    );
  }

  releaseInstance(instance: number): void {
    this.#run(() => this.#file.prepare('DELETE FROM host WHERE instance = ?').run(instance));
  }

  close(): void {
    this.#file.close();
  }

  #run<T>(work: () => T): T {
    return mapSqliteErrors(this.#path, work);
  }
}

/** When the process started, as the system counts it, or undefined if there is none; on systems without /proc, 'alive'. */
export function processStarted(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  if (!existsSync('/proc/self/stat')) return 'alive';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
