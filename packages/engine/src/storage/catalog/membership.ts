/**
 * The instances of the cluster and the process that hosts each: the part of the catalog that decides failover. A claim is won in
 * one transaction and numbered; a process with a lower number no longer hosts the instance. The lease shows whether the process
 * of a claim is working (`lease-file.ts`), so these rows change rarely.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { ClaimNumber, Epoch, InstanceId, Pid } from '../../model/ids.ts';
import type { ProcessIdentity, ProcessTable } from '../../model/ports.ts';
import { mapSqliteErrors, type SqliteFile, type SqliteStatement } from '../sqlite/open-sqlite.ts';
import { CatalogFile, catalogPath } from './catalog-file.ts';
import { claimKeyInstance, readKeyInstance, readSqlInstance } from './fixed-instances.ts';
import { forgetEpochOf, readEpochs } from './instance-epochs.ts';

/**
 * `embedded`: hosted by a program outside a cluster until it ends. `owner`: by the process of the cluster that the
 * instance belongs to. `failover`: by another process of the cluster until the owner is back.
 */
export type HostRole = 'embedded' | 'owner' | 'failover';

export interface Host extends ProcessIdentity {
  claim: ClaimNumber;
  instance: InstanceId;
  role: HostRole;
  /** The owner, which is back and waits for the failover host to return the instance. */
  recalledBy: ProcessIdentity | null;
}

export interface Member {
  instance: InstanceId;
  leaving: boolean;
}

interface StoredHost extends Omit<Host, 'recalledBy'> {
  recalledPid: Pid | null;
  recalledStarted: string | null;
}

const hostColumns = `claim, instance, pid, pid_started AS started, role,
  recalled_by AS recalledPid, recalled_started AS recalledStarted`;

export class Membership {
  readonly #processes: ProcessTable;
  readonly #catalogFile: CatalogFile;
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #selectHosts: SqliteStatement;
  readonly #selectHost: SqliteStatement;

  /**
   * `busyMs`: wait for another process's change, which blocks the thread; past it `STORAGE_FAILED`. A process that serves
   * sessions passes 0 and retries later, so that a process that is stopped inside a change cannot stop it too.
   */
  constructor(dir: string, { busyMs, processes }: { busyMs: number; processes: ProcessTable }) {
    this.#processes = processes;
    this.#path = catalogPath(dir);
    this.#catalogFile = new CatalogFile(dir, {
      busyMs: limits.catalogBusyMsMax,
      pid: processes.self.pid,
    });
    this.#file = this.#catalogFile.database;
    this.#file.pragma(`busy_timeout = ${busyMs}`);
    this.#selectHosts = this.#file.prepare(`SELECT ${hostColumns} FROM host ORDER BY instance`);
    this.#selectHost = this.#file.prepare(`SELECT ${hostColumns} FROM host WHERE instance = ?`);
  }

  /** Changes whenever another connection committed a change. */
  dataVersion(): number {
    return mapSqliteErrors(this.#path, () => this.#catalogFile.dataVersion());
  }

  hosts(): Host[] {
    return this.#read(() => (this.#selectHosts.all() as StoredHost[]).map(toHost));
  }

  host(instance: InstanceId): Host | undefined {
    return this.#read(() => {
      const row = this.#selectHost.get(instance) as StoredHost | undefined;
      return row && toHost(row);
    });
  }

  /** Claims the instance for this process; returns the claim. Throws `INSTANCE_IN_USE`, naming the process that hosts it. */
  claim(instance: InstanceId, role: HostRole): ClaimNumber {
    return this.#runTransaction(() => {
      const host = this.host(instance);
      if (host !== undefined && this.#processes.isAlive(host)) throw instanceInUseError(host);
      return this.#replaceHost(instance, role, this.#processes.self);
    });
  }

  holdsClaim(instance: InstanceId, claim: ClaimNumber): boolean {
    return this.host(instance)?.claim === claim;
  }

  /** Ends the claim: any process may claim the instance next. */
  releaseClaim(claim: ClaimNumber): void {
    this.#runTransaction(() => this.#file.prepare('DELETE FROM host WHERE claim = ?').run(claim));
  }

  /** Asks the failover host to return the instance to this process, its owner. */
  requestReturn(claim: ClaimNumber): void {
    const { pid, started } = this.#processes.self;
    this.#runTransaction(() =>
      this.#file
        .prepare(
          `UPDATE host SET recalled_by = ?, recalled_started = ? WHERE claim = ? AND role = 'failover'`,
        )
        .run(pid, started, claim),
    );
  }

  /** Passes the claim to the process that recalled it, so that no third one can claim the instance in between. */
  returnToOwner(claim: ClaimNumber): void {
    this.#runTransaction(() => {
      const host = this.hosts().find((hosted) => hosted.claim === claim);
      if (host === undefined) return;
      if (host.recalledBy === null) this.releaseClaim(claim);
      else this.#replaceHost(host.instance, 'owner', host.recalledBy);
    });
  }

  #replaceHost(instance: InstanceId, role: HostRole, { pid, started }: ProcessIdentity): ClaimNumber {
    this.#file.prepare('DELETE FROM host WHERE instance = ?').run(instance);
    const { lastInsertRowid } = this.#file
      .prepare('INSERT INTO host (instance, pid, pid_started, role) VALUES (?, ?, ?, ?)')
      .run(instance, pid, started, role);
    return Number(lastInsertRowid);
  }

  members(): Member[] {
    return this.#read(() => {
      const rows = this.#file.prepare('SELECT instance, leaving FROM member ORDER BY instance').all();
      return (rows as { instance: InstanceId; leaving: number }[]).map(({ instance, leaving }) => ({
        instance,
        leaving: leaving === 1,
      }));
    });
  }

  /** Adds an instance, or keeps one that was leaving. */
  addMember(instance: InstanceId): void {
    this.#runTransaction(() =>
      this.#file
        .prepare('INSERT INTO member (instance) VALUES (?) ON CONFLICT (instance) DO UPDATE SET leaving = 0')
        .run(instance),
    );
  }

  /** Throws `INSTANCE_IS_HOME` for the SQL instance and the key instance: their files must stay served. */
  markMemberLeaving(instance: InstanceId): void {
    this.#runTransaction(() => {
      if (readSqlInstance(this.#file) === instance || readKeyInstance(this.#file) === instance) {
        throw new QueueError('INSTANCE_IS_HOME', { details: { instance } });
      }
      this.#file.prepare('UPDATE member SET leaving = 1 WHERE instance = ?').run(instance);
    });
  }

  /** The instance that holds the application's tables; undefined while there are none. */
  sqlInstance(): InstanceId | undefined {
    return this.#read(() => readSqlInstance(this.#file));
  }

  /** The instance that knows the idempotency keys of clients of the whole cluster; undefined before the first key. */
  keyInstance(): InstanceId | undefined {
    return this.#read(() => readKeyInstance(this.#file));
  }

  /** Returns the key instance: another process may have been first. Undefined if this one is leaving the cluster. */
  claimKeyInstance(instance: InstanceId): InstanceId | undefined {
    return this.#runTransaction(() => claimKeyInstance(this.#file, instance));
  }

  /** A leaving instance is empty. Its file stays, so that its numbers continue if it is added again. */
  deleteLeavingMember(instance: InstanceId): void {
    this.#runTransaction(() => {
      this.#file.prepare('DELETE FROM member WHERE instance = ? AND leaving = 1').run(instance);
      forgetEpochOf(this.#file, instance);
    });
  }

  /** The epochs of the last openings, by instance. */
  epochs(): Map<InstanceId, Epoch> {
    return this.#read(() => readEpochs(this.#file));
  }

  /** For a repair: the instance may begin anew. */
  forgetEpochOf(instance: InstanceId): void {
    this.#runTransaction(() => forgetEpochOf(this.#file, instance));
  }

  /** Claims a task that only one process of the cluster may do. Throws `INSTANCE_IN_USE`, naming that process. */
  claimSingleton(name: string): void {
    this.#runTransaction(() => {
      const holder = this.#file
        .prepare('SELECT pid, pid_started AS started FROM singleton WHERE name = ?')
        .get(name) as ProcessIdentity | undefined;
      if (holder !== undefined && this.#processes.isAlive(holder)) {
        throw new QueueError('INSTANCE_IN_USE', {
          message: `The cluster is run by process ${holder.pid}`,
          details: { pid: holder.pid },
        });
      }
      const { pid, started } = this.#processes.self;
      this.#file
        .prepare('INSERT OR REPLACE INTO singleton (name, pid, pid_started) VALUES (?, ?, ?)')
        .run(name, pid, started);
    });
  }

  /** False once another process has claimed the task: it held this one for dead. */
  holdsSingleton(name: string): boolean {
    const { pid, started } = this.#processes.self;
    const mine = this.#file.prepare('SELECT 1 FROM singleton WHERE name = ? AND pid = ? AND pid_started = ?');
    return this.#read(() => mine.get(name, pid, started) !== undefined);
  }

  /** Does nothing if another process has claimed the task since. */
  releaseSingleton(name: string): void {
    const { pid, started } = this.#processes.self;
    this.#runTransaction(() =>
      this.#file
        .prepare('DELETE FROM singleton WHERE name = ? AND pid = ? AND pid_started = ?')
        .run(name, pid, started),
    );
  }

  close(): void {
    this.#catalogFile.close();
  }

  #runTransaction<T>(work: () => T): T {
    return mapSqliteErrors(this.#path, () => this.#catalogFile.change(work));
  }

  #read<T>(work: () => T): T {
    return mapSqliteErrors(this.#path, () => this.#catalogFile.read(work));
  }
}

function toHost({ recalledPid, recalledStarted, ...host }: StoredHost): Host {
  const recalled = recalledPid !== null && recalledStarted !== null;
  return { ...host, recalledBy: recalled ? { pid: recalledPid, started: recalledStarted } : null };
}

function instanceInUseError({ instance, pid }: Host): QueueError {
  return new QueueError('INSTANCE_IN_USE', {
    message: `Instance ${instance} is hosted by process ${pid}`,
    details: { instance, pid },
  });
}
