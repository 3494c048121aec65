/**
 * The unsharded queues: one table with one ordered index in one file that all instances open, as a job table. A dequeue
 * claims rows in a small transaction without a sync (a power cut makes the message ready again); the commit deletes them
 * and is synced. `docs/data-layout.md` shows the tables.
 */

import { join } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import type { QueueType } from '../../api/queue-settings.ts';
import type { IdRun } from '../../model/id-runs.ts';
import type { HolderId, InstanceId, QueueId, Seq, SubscriberId } from '../../model/ids.ts';
import type { Clock, InstancePorts, ProcessTable } from '../../model/ports.ts';
import type { Flow } from '../../model/rate-window.ts';
import type { SessionOutcome } from '../../model/session-outcome.ts';
import type { SubscriberRow } from '../../model/subscriber-row.ts';
import { prepareFormat } from '../sqlite/file-format.ts';
import { FileHealth } from '../sqlite/file-health.ts';
import {
  isDiskFull,
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
} from '../sqlite/open-sqlite.ts';
import {
  AcknowledgedNumberFile,
  acknowledgedNumberPath,
  CheckpointScheduler,
} from '../sqlite/write-ahead-log.ts';
import {
  type BrowsedRow,
  type BrowseMark,
  browseQueue,
  browseTopic,
  readEnqueueTime,
  readHeldRecord,
} from './browse-rows.ts';
import type { ClaimedRow } from './delivery-table.ts';
import type { ClaimBounds, HeldMessage, MessageConsumer } from './message-consumer.ts';
import type { StoredSubscriber } from './topic-subscriber-table.ts';
import type { SubscriberCounts } from './topic-tables.ts';
import { assertNoUnshardedCommitsMissing, assertUnshardedCounted } from './unsharded-integrity.ts';
import { batchSessionId } from './unsharded-outcome-table.ts';
import { unshardedSchemaSql } from './unsharded-schema.ts';
import { type UnshardedChange, UnshardedTables } from './unsharded-tables.ts';

export type { ClaimedRow, UnshardedChange };

export interface UnshardedCounts {
  enqueued: number;
  consumed: number;
  ready: number;
  held: number;
}

/**
 * 4 KiB instead of the 16 of an instance's file: a commit of ten messages changes about five pages, and every process
 * writes small transactions of its own. CPU for a message in and out: 12 µs against 18 with 10 a transaction, 4.0 against
 * 3.7 with 1,000.
 */
const pageBytes = 4_096;

/** A queue of the catalog. */
export interface NamedQueue {
  queueId: QueueId;
  name: string;
}

export interface UnshardedFileOptions {
  /** Queues of the catalog; stored ones that are not among them are deleted. */
  queues(): readonly NamedQueue[];
  queueById(queueId: QueueId): NamedQueue | undefined;
  /** This process can no longer write to the file. */
  onFailed(error: QueueError): void;
  /** Default: `limits.logBytesMaxDefault`. */
  logBytesMax?: number;
  ports: Pick<InstancePorts, 'clock' | 'processes'>;
}

export function unshardedPath(dir: string): string {
  return join(dir, 'unsharded.db');
}

export class UnshardedFile {
  readonly #file: SqliteFile;
  readonly path: string;
  readonly #clock: Clock;
  readonly #processes: ProcessTable;
  readonly #health: FileHealth;
  readonly #checkpoints: CheckpointScheduler;
  /** Identifies this process in the rows of what it holds. */
  readonly holder: HolderId;
  readonly tables: UnshardedTables;
  #syncMode: 'FULL' | 'NORMAL' = 'FULL';
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  readonly #acknowledged: AcknowledgedNumberFile;
  readonly #selectDataVersion: SqliteStatement;

  /**
   * Opens or creates the file, returns messages that dead processes held, and deletes messages of missing queues. Waits up
   * to five seconds for other writers, which blocks the thread. Throws `COMMITS_MISSING`, `STORAGE_CORRUPT`.
   */
  constructor(
    dir: string,
    { queues, queueById, onFailed, logBytesMax, ports: { clock, processes } }: UnshardedFileOptions,
  ) {
    this.#clock = clock;
    this.#processes = processes;
    this.path = unshardedPath(dir);
    assertNoUnshardedCommitsMissing(this.path);
    this.#file = openSqlite({ path: this.path, busyMs: 5_000, pageBytes });
    let acknowledged: AcknowledgedNumberFile | undefined;
    try {
      acknowledged = mapSqliteErrors(this.path, () => {
        prepareFormat(this.#file, unshardedSchemaSql);
        this.#file.transaction(() => assertUnshardedCounted(this.#file))();
        return new AcknowledgedNumberFile(acknowledgedNumberPath(this.path), processes.self.pid);
      });
      this.#acknowledged = acknowledged;
      this.#health = new FileHealth(this.path, onFailed);
      this.#checkpoints = new CheckpointScheduler(this.#file, logBytesMax);
      this.#begin = this.#file.prepare('BEGIN IMMEDIATE');
      this.#commit = this.#file.prepare('COMMIT');
      this.#selectDataVersion = this.#file.prepare('PRAGMA data_version').pluck();
      this.tables = new UnshardedTables(this.#file, clock, (queueId) => queueNameOf(queueById, queueId));
      this.releaseHeldByDeadProcesses();
      this.#releaseHeldByUnknown();
      this.#dropMissingQueues(queues);
      // Last, because an opening that fails must leave no row of a process that lives on.
      this.holder = mapSqliteErrors(this.path, () => this.tables.holders.add(processes.self));
      this.#file.pragma('busy_timeout = 0'); // from here on the caller waits and retries
    } catch (error) {
      this.#file.close();
      acknowledged?.close();
      throw error;
    }
  }

  #dropMissingQueues(queues: () => readonly NamedQueue[]): void {
    const known = this.#file
      .prepare(
        `SELECT queue_id FROM queue_total WHERE queue_id > 0 AND sealed_at IS NULL
         UNION SELECT queue_id FROM topic_subscriber`,
      )
      .pluck()
      .all() as QueueId[];
    const live = queues().map(({ queueId }) => queueId); // read after `known`, so that a queue that is created in between is not deleted
    for (const queueId of known) if (!live.includes(queueId)) this.dropQueue(queueId);
  }

  /** Whether a process without the write lock is writing; the caller retries. */
  static isBusy(error: unknown): boolean {
    return error instanceof QueueError && String(error.details.sqlite ?? '').startsWith('SQLITE_BUSY');
  }

  /** Enqueues and consumes in one transaction; returns the ids of the enqueued messages. */
  commit(change: UnshardedChange): IdRun[] {
    // An estimate of the bytes added to the log: a deleted row changes its page.
    const bytes = change.enqueued.reduce(
      (sum, { record }) => sum + record.byteLength,
      change.consumed.length * 512,
    );
    return this.runTransaction(change.sync, (lastId) => this.tables.commit(change, lastId, this.holder), {
      bytes,
      messages: change.enqueued.length,
    });
  }

  /** Outcomes of the remote sessions that `instance` serves. */
  outcomes(instance: InstanceId): SessionOutcome[] {
    return mapSqliteErrors(this.path, () => this.tables.outcomes.read(instance));
  }

  /** Deletes outcomes that no client will ask for. */
  deleteOutcomes(sessions: readonly Buffer[]): void {
    this.runTransaction('NORMAL', () => {
      for (const session of sessions) this.tables.outcomes.remove(session);
    });
  }

  /** Claims up to `max` ready messages in order. */
  claim(consumer: MessageConsumer, bounds: ClaimBounds): ClaimedRow[] {
    const sync = consumer.countsAttempts === true ? 'FULL' : 'NORMAL';
    return this.runTransaction(sync, () => this.tables.claim(consumer, bounds, this.holder));
  }

  /** Throws `STORAGE_CORRUPT` instead of false if messages that are counted cannot be found. */
  hasReady(consumer: MessageConsumer): boolean {
    return mapSqliteErrors(this.path, () => {
      if (this.tables.hasReady(consumer)) return true;
      return this.#readSnapshot(() => {
        if (this.tables.hasReady(consumer)) return true;
        this.assertAllHeld(consumer);
        return false;
      });
    });
  }

  /** Throws `STORAGE_CORRUPT` if messages that are counted are neither ready nor held; call it where none is ready. */
  assertAllHeld(consumer: MessageConsumer): void {
    const { enqueued, consumed } = this.tables.totalOf(consumer);
    const held = this.tables.countHeld(consumer);
    if (enqueued - consumed === held) return;
    const { queueId, subscriber } = consumer;
    const whose = subscriber === 0 ? `queue ${queueId}` : `subscriber ${subscriber} of topic ${queueId}`;
    throw new QueueError('STORAGE_CORRUPT', {
      message: `${enqueued - consumed} messages of ${whose} should be in ${this.path}, none is ready and ${held} are held: the others cannot be found`,
      details: { path: this.path, ...consumer, live: enqueued - consumed, held },
    });
  }

  #readSnapshot<T>(work: () => T): T {
    this.#file.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#file.exec('COMMIT');
    }
  }

  release(held: readonly HeldMessage[], sync: 'FULL' | 'NORMAL'): void {
    this.runTransaction(sync, () => {
      for (const message of held) this.tables.release(message, this.holder);
    });
  }

  /** Makes messages that dead processes held ready again; returns their number. */
  releaseHeldByDeadProcesses(): number {
    const dead = this.tables.holders
      .all()
      .filter(
        ({ holder, pid, started }) => holder !== this.holder && !this.#processes.isAlive({ pid, started }),
      );
    if (dead.length === 0) return 0;
    return this.runTransaction('FULL', () =>
      dead.reduce((released, { holder }) => released + this.#removeHolder(holder), 0),
    );
  }

  /** A damaged file may have lost the row of a holder; its messages must not stay held for ever. */
  #releaseHeldByUnknown(): void {
    if (mapSqliteErrors(this.path, () => this.tables.holders.holdsUnknown))
      this.runTransaction('FULL', () => this.tables.holders.releaseHeldByUnknown());
  }

  #removeHolder(holder: HolderId): number {
    this.tables.outcomes.remove(batchSessionId(holder));
    return this.tables.holders.remove(holder);
  }

  /** Changes whenever another process committed. */
  dataVersion(): number {
    return mapSqliteErrors(this.path, () => this.#selectDataVersion.get() as number);
  }

  /** A message of a topic counts as ready until no subscriber waits for it, whether or not some hold it. */
  counts(queueId: QueueId, type: QueueType = 'queue'): UnshardedCounts {
    return mapSqliteErrors(this.path, () => {
      const { enqueued, consumed } = this.tables.totals.of(queueId);
      const held = this.tables.countHeldOfQueue(queueId);
      const depth = enqueued - consumed;
      return { enqueued, consumed, held, ready: type === 'topic' ? depth : depth - held };
    });
  }

  /** Messages in and out within the rate window, of all processes. */
  flow(queueId: QueueId): Flow {
    return mapSqliteErrors(this.path, () => {
      const baseline = this.tables.rateBaselines.baselineOf(queueId);
      if (baseline === undefined) return { windowMs: 0, windowIn: 0, windowOut: 0 };
      const { enqueued, consumed } = this.counts(queueId);
      return {
        windowMs: Math.max(0, this.#clock.epochMs() - baseline.fromMs),
        windowIn: enqueued - baseline.fromEnqueued,
        windowOut: consumed - baseline.fromConsumed,
      };
    });
  }

  /** Live messages of a queue above `afterId`, in order, without damaged ones. */
  browse(queueId: QueueId, afterId: Seq, limit: number): BrowsedRow[] {
    return mapSqliteErrors(this.path, () => browseQueue(this.#file, queueId, { afterId, limit }));
  }

  /** The same for a topic's subscriber, in the order of delivery. */
  browseTopic(consumer: MessageConsumer, after: BrowseMark, limit: number): BrowsedRow[] {
    return mapSqliteErrors(this.path, () => browseTopic(this.#file, consumer, { after, limit }));
  }

  /** The subscribers of a topic that have rows here, with those that were removed and whose rows are not all gone. */
  storedSubscribers(queueId: QueueId): StoredSubscriber[] {
    return mapSqliteErrors(this.path, () => this.tables.topics.subscribers.ofTopic(queueId));
  }

  /** The id of a temporary subscriber of a topic; undefined if there is none of this name. */
  temporarySubscriber(queueId: QueueId, name: string): SubscriberId | undefined {
    const id = mapSqliteErrors(this.path, () => this.tables.topics.subscribers.idOf(queueId, name));
    return id !== undefined && id < 0 ? id : undefined;
  }

  /** The subscribers of a topic and their backlogs; with `only`, of that one. */
  subscriberCounts(queueId: QueueId, only?: SubscriberId): SubscriberCounts[] {
    return mapSqliteErrors(this.path, () =>
      this.#readSnapshot(() => this.tables.topics.countsOf(queueId, only)),
    );
  }

  /** The record of a message that this process holds. Throws `STORAGE_CORRUPT`. */
  recordOf(id: Seq): Buffer {
    return mapSqliteErrors(this.path, () => readHeldRecord(this.#file, id));
  }

  /** When a message was enqueued, epoch ms; undefined if it is gone. */
  enqueuedAtMs(id: Seq): number | undefined {
    return mapSqliteErrors(this.path, () => readEnqueueTime(this.#file, id));
  }

  /**
   * From now on enqueued messages also go to the subscribers `added`, and no longer to those in `ended`, whose rows
   * `purgeSubscriber` removes.
   */
  changeSubscribers(queueId: QueueId, added: readonly SubscriberRow[], ended: readonly SubscriberId[]): void {
    this.runTransaction('FULL', () => this.tables.topics.changeSubscribers(queueId, added, ended));
  }

  /** Removes up to `rowsMax` messages of a subscriber that has ended; true: and the subscriber itself. */
  purgeSubscriber(consumer: MessageConsumer, rowsMax: number): boolean {
    return this.runTransaction('FULL', () => this.tables.purgeSubscriber(consumer, rowsMax));
  }

  /** After this no commit of any process can enqueue to the queue. */
  seal(queueId: QueueId): void {
    this.runTransaction('FULL', () => this.tables.totals.seal(queueId));
  }

  unseal(queueId: QueueId): void {
    this.runTransaction('FULL', () => this.tables.totals.unseal(queueId));
  }

  /** Messages counted one by one: must equal what the totals say. */
  countStored(queueId: QueueId): number {
    return mapSqliteErrors(
      this.path,
      () =>
        this.#file.prepare('SELECT count(*) FROM message WHERE queue_id = ?').pluck().get(queueId) as number,
    );
  }

  /** Deletes a queue; of a sealed one, all but the seal. */
  dropQueue(queueId: QueueId): void {
    this.runTransaction('FULL', () => this.tables.deleteQueue(queueId));
  }

  /** Whether a process still has this holder's number. */
  hasHolder(holder: HolderId): boolean {
    return this.tables.holders.has(holder);
  }

  /** `work` gets the last id of the `messages` that the transaction enqueues. */
  runTransaction<T>(sync: 'FULL' | 'NORMAL', work: (lastId: Seq) => T, { bytes = 0, messages = 0 } = {}): T {
    const durable = sync === 'FULL';
    const result = this.#health.run(() => {
      this.#checkpoints.assertLogFits();
      if (sync !== this.#syncMode) {
        this.#file.exec(`PRAGMA synchronous = ${sync}`); // a tenth of the time of `pragma`
        this.#syncMode = sync;
      }
      this.#begin.run();
      try {
        const total = durable || messages > 0 ? this.tables.totals.advance(messages, durable) : undefined;
        const done = work(total?.enqueued ?? 0);
        this.#commit.run();
        // A relaxed commit may be lost in a power cut, so its absence must not count as damage.
        if (durable) this.#acknowledged.write(total!.commitNumber);
        return done;
      } catch (error) {
        if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
        if (isDiskFull(error)) this.#checkpoints.runPassive(); // as in `instance-file.ts`
        throw error;
      }
    });
    this.#health.runMaintenance(() => this.#checkpoints.afterCommit(bytes));
    return result;
  }

  /** Releases the holds of this process and deletes the outcomes of the sessions `forgotten`. */
  close(forgotten: readonly Buffer[] = []): void {
    try {
      this.#file.pragma('busy_timeout = 5000');
      this.runTransaction('FULL', () => {
        this.#removeHolder(this.holder);
        for (const session of forgotten) this.tables.outcomes.remove(session);
      });
    } finally {
      this.#file.close();
      this.#acknowledged.close();
    }
  }
}

/** Also undefined if the catalog cannot be read: no commit may fail for want of a name. */
function queueNameOf(queueById: UnshardedFileOptions['queueById'], queueId: QueueId): string | undefined {
  try {
    return queueById(queueId)?.name;
  } catch {
    return undefined;
  }
}
