/**
 * Which instances the cluster has and which process hosts each: the part of the catalog that failover turns on. A claim
 * is won in one transaction and is numbered; whoever holds an older number no longer hosts the instance. That a claim's
 * process is at work is told by its lease (`lease-file.ts`), not here: what is written here changes rarely.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { readApplicationHome } from './application-home.ts';
import { catalogPath, openCatalogFile } from './catalog-file.ts';
import { isAlive, ownProcess, type ProcessId } from './process-identity.ts';
import { mapSqliteErrors, type SqliteFile, type SqliteStatement } from './sqlite.ts';

/**
 * `embedded`: by a program that opened it for itself, and only its end frees it. `home`: by its own process of the
 * cluster. `guest`: by another process of the cluster, until its own one is back.
 */
export type HostRole = 'embedded' | 'home' | 'guest';

export interface Host extends ProcessId {
  claim: number;
  instance: number;
  role: HostRole;
  /** The instance's own process, which is back and waits until the guest is given back. */
  recalledBy: ProcessId | null;
}

export interface Member {
  instance: number;
  leaving: boolean;
}

interface StoredHost extends Omit<Host, 'recalledBy'> {
  recalledPid: number | null;
  recalledStarted: string | null;
}

const columns = `claim, instance, pid, pid_started AS started, role,
  recalled_by AS recalledPid, recalled_started AS recalledStarted`;

export class Membership {
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #version: SqliteStatement;
  readonly #hosts: SqliteStatement;
  readonly #host: SqliteStatement;

  /**
   * `busyMs`: how long the change of another process is waited for, blocking the thread; past it `STORAGE_FAILED`. A
   * process that serves sessions passes 0 and comes again: one that is stopped inside a change must not stop it too.
   */
  constructor(dir: string, { busyMs }: { busyMs: number }) {
    this.#path = catalogPath(dir);
    this.#file = openCatalogFile(dir, limits.catalogBusyMs);
    this.#file.pragma(`busy_timeout = ${busyMs}`);
    this.#version = this.#file.prepare('PRAGMA data_version').pluck();
    this.#hosts = this.#file.prepare(`SELECT ${columns} FROM host ORDER BY instance`);
    this.#host = this.#file.prepare(`SELECT ${columns} FROM host WHERE instance = ?`);
  }

  /** Changes whenever another connection committed a change. */
  version(): number {
    return this.#run(() => this.#version.get() as number);
  }

  hosts(): Host[] {
    return this.#run(() => (this.#hosts.all() as StoredHost[]).map(toHost));
  }

  host(instance: number): Host | undefined {
    return this.#run(() => {
      const row = this.#host.get(instance) as StoredHost | undefined;
      return row && toHost(row);
    });
  }

  /** Takes the instance for this process; returns the claim. Throws `INSTANCE_IN_USE`, naming the process that has it. */
  claim(instance: number, role: HostRole): number {
    return this.#write(() => {
      const host = this.host(instance);
      if (host !== undefined && isAlive(host)) throw inUse(host);
      return this.#replaceHost(instance, role, ownProcess());
    });
  }

  holds(instance: number, claim: number): boolean {
    return this.host(instance)?.claim === claim;
  }

  /** The claim ends, and the instance is free for whoever comes first. */
  release(claim: number): void {
    this.#run(() => this.#file.prepare('DELETE FROM host WHERE claim = ?').run(claim));
  }

  /** Asks the host of a guest to give it to this process. */
  recall(claim: number): void {
    const { pid, started } = ownProcess();
    this.#run(() =>
      this.#file
        .prepare(`UPDATE host SET recalled_by = ?, recalled_started = ? WHERE claim = ? AND role = 'guest'`)
        .run(pid, started, claim),
    );
  }

  /** Ends the claim in favour of the process that recalled it, so that no third one comes between. */
  giveBack(claim: number): void {
    this.#write(() => {
      const host = this.hosts().find((each) => each.claim === claim);
      if (host === undefined) return;
      if (host.recalledBy === null) this.release(claim);
      else this.#replaceHost(host.instance, 'home', host.recalledBy);
    });
  }

  #replaceHost(instance: number, role: HostRole, { pid, started }: ProcessId): number {
    this.#file.prepare('DELETE FROM host WHERE instance = ?').run(instance);
    const { lastInsertRowid } = this.#file
      .prepare('INSERT INTO host (instance, pid, pid_started, role) VALUES (?, ?, ?, ?)')
      .run(instance, pid, started, role);
    return Number(lastInsertRowid);
  }

  members(): Member[] {
    return this.#run(() => {
      const rows = this.#file.prepare('SELECT instance, leaving FROM member ORDER BY instance').all();
      return (rows as { instance: number; leaving: number }[]).map(({ instance, leaving }) => ({
        instance,
        leaving: leaving === 1,
      }));
    });
  }

  /** Adds an instance, or keeps one that was about to leave. */
  addMember(instance: number): void {
    this.#run(() =>
      this.#file
        .prepare('INSERT INTO member (instance) VALUES (?) ON CONFLICT (instance) DO UPDATE SET leaving = 0')
        .run(instance),
    );
  }

  /** Throws `INSTANCE_IS_HOME` for the one that the application's tables lie on: its file must stay served. */
  removeMember(instance: number): void {
    this.#write(() => {
      if (readApplicationHome(this.#file) === instance) {
        throw new QueueError('INSTANCE_IS_HOME', { details: { instance } });
      }
      this.#file.prepare('UPDATE member SET leaving = 1 WHERE instance = ?').run(instance);
    });
  }

  /** The instance that the application's tables lie on; undefined as long as it has none. */
  applicationHome(): number | undefined {
    return this.#run(() => readApplicationHome(this.#file));
  }

  /** An instance that was to leave is empty; its file stays, so that its numbers go on should it be added again. */
  forgetMember(instance: number): void {
    this.#run(() =>
      this.#file.prepare('DELETE FROM member WHERE instance = ? AND leaving = 1').run(instance),
    );
  }

  /** Takes what one process of the cluster does alone. Throws `INSTANCE_IN_USE`, naming the process that does it. */
  claimSingleton(name: string): void {
    this.#write(() => {
      const holder = this.#file
        .prepare('SELECT pid, pid_started AS started FROM singleton WHERE name = ?')
        .get(name) as ProcessId | undefined;
      if (holder !== undefined && isAlive(holder)) {
        throw new QueueError('INSTANCE_IN_USE', {
          sentence: `The cluster is run by process ${holder.pid}`,
          details: { pid: holder.pid },
        });
      }
      const { pid, started } = ownProcess();
      this.#file
        .prepare('INSERT OR REPLACE INTO singleton (name, pid, pid_started) VALUES (?, ?, ?)')
        .run(name, pid, started);
    });
  }

  releaseSingleton(name: string): void {
    this.#run(() => this.#file.prepare('DELETE FROM singleton WHERE name = ?').run(name));
  }

  close(): void {
    this.#file.close();
  }

  #write<T>(work: () => T): T {
    return this.#run(() => this.#file.transaction(work).immediate());
  }

  #run<T>(work: () => T): T {
    return mapSqliteErrors(this.#path, work);
  }
}

/** The instances of the cluster in a folder, those that leave too; none if no cluster was started in it. */
export function readMembers(dir: string): number[] {
  const membership = new Membership(dir, { busyMs: limits.catalogBusyMs });
  try {
    return membership.members().map(({ instance }) => instance);
  } finally {
    membership.close();
  }
}

function toHost({ recalledPid, recalledStarted, ...host }: StoredHost): Host {
  const recalled = recalledPid !== null && recalledStarted !== null;
  return { ...host, recalledBy: recalled ? { pid: recalledPid, started: recalledStarted } : null };
}

function inUse({ instance, pid }: Host): QueueError {
  return new QueueError('INSTANCE_IN_USE', {
    sentence: `Instance ${instance} is hosted by process ${pid}`,
    details: { instance, pid },
  });
}
