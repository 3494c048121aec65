/**
 * Notices that a file which this process has open was deleted or replaced by another. Nothing fails then: what is committed goes to a
 * file that no later opening finds. Files are compared by path, with `stat` alone: to open and close one here would drop the locks that
 * SQLite holds on it.
 */
import { type Stats, stat, statSync } from 'node:fs';
import { basename } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import { acknowledgedNumberPath } from './write-ahead-log.ts';

type Identity = Pick<Stats, 'dev' | 'ino'>;

export class FilesInUse {
  readonly #opened = new Map<string, Identity>();
  readonly #databases: readonly string[];
  readonly #others: () => readonly string[];
  /** Logs that were missing at the check before. */
  #missingLogs: ReadonlySet<string> = new Set();

  /**
   * `open`: paths of databases that are open. `later`: of one that is opened when it is first needed, before or after it exists.
   * `others`: of files that are open now, which may become more.
   */
  constructor({
    open,
    later,
    others,
  }: { open: readonly string[]; later: string; others(): readonly string[] }) {
    const databases = [...open, later].flatMap((path) => [path, acknowledgedNumberPath(path)]);
    this.#databases = [...databases, ...open.map((path) => `${path}-wal`)];
    this.#others = others;
    for (const path of this.#paths) this.#compare(path, statSync(path, { throwIfNoEntry: false }));
  }

  get #paths(): string[] {
    return [...this.#databases, ...this.#others()];
  }

  /** Rejects with `STORAGE_REPLACED`, which names the first such file. */
  async assertInPlace(): Promise<void> {
    const paths = this.#paths;
    const found = await Promise.all(paths.map(statOrMissing));
    const missing = paths.filter((path, index) => !this.#compare(path, found[index]));
    const missingLogs = new Set(missing.filter(isLog));
    // SQLite deletes a log when the last connection to its file is closed, as may happen for a moment when another takes over.
    const replaced = missing.find((path) => !isLog(path) || this.#missingLogs.has(path));
    this.#missingLogs = missingLogs;
    if (replaced === undefined) return;
    throw new QueueError('STORAGE_REPLACED', {
      message: `${basename(replaced)} was deleted or replaced while it was in use: the next opening does not find what was committed since`,
      details: { path: replaced },
    });
  }

  /** Whether the file at the path is the one that was opened; true if none was. A log may be another one, see above. */
  #compare(path: string, found: Identity | undefined): boolean {
    const opened = this.#opened.get(path);
    if (opened === undefined || (isLog(path) && found !== undefined)) {
      if (found !== undefined) this.#opened.set(path, found);
      return true;
    }
    return found?.dev === opened.dev && found.ino === opened.ino;
  }
}

const isLog = (path: string) => path.endsWith('-wal');

function statOrMissing(path: string): Promise<Stats | undefined> {
  return new Promise((resolve, reject) => {
    stat(path, (error, stats) => {
      if (error === null) resolve(stats);
      else if (error.code === 'ENOENT') resolve(undefined);
      else reject(new QueueError('STORAGE_FAILED', { details: { path }, cause: error }));
    });
  });
}
