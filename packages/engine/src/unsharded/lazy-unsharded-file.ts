/** The unsharded file, opened at first use: an instance without unsharded queues has no such file. */
import {
  UnshardedFile,
  type UnshardedFileOptions,
  unshardedPath,
} from '../storage/unsharded/unsharded-file.ts';
import { unshardedFileIsExpected } from '../storage/unsharded/unsharded-integrity.ts';
import type { SharedFileLock } from './shared-file-lock.ts';

export class LazyUnshardedFile {
  readonly #dir: string;
  readonly #options: UnshardedFileOptions;
  readonly #onOpened: (file: UnshardedFile) => void;
  #file: UnshardedFile | undefined;

  constructor(dir: string, options: UnshardedFileOptions, onOpened: (file: UnshardedFile) => void) {
    this.#dir = dir;
    this.#options = options;
    this.#onOpened = onOpened;
  }

  /** Whether there is a file, or was one with acknowledged commits. */
  get isExpected(): boolean {
    return unshardedFileIsExpected(unshardedPath(this.#dir));
  }

  /** Throws what opening the file throws. */
  get opened(): UnshardedFile {
    if (this.#file === undefined) {
      this.#file = new UnshardedFile(this.#dir, this.#options);
      this.#onOpened(this.#file);
    }
    return this.#file;
  }

  /**
   * Closes it if it was opened, and forgets the outcomes of `sessions`. Takes the lock first: while others write all the time, a
   * wait inside SQLite could block the thread for long.
   */
  async closeUnder(lock: SharedFileLock, sessions: readonly Buffer[]): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    let begun = false;
    const close = () => {
      begun = true;
      file.close(sessions);
    };
    try {
      await lock.run('commit', close);
    } catch (error) {
      if (begun) throw error;
      close(); // the lock cannot be reached: SQLite alone decides
    }
  }
}
