/**
 * The trials that each run has measured, in a file for each run, so that one which the server's end interrupted can be
 * resumed. A file is named for the run and for the code that measured: trials of other code are not mixed with new ones.
 * It is kept while its run is interrupted, and deleted when the run ends in any other way.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeFingerprint } from '@shardlab/lab';

export class RunJournals {
  readonly #folder: string;
  #code: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The file of a run's trials, for the present code. */
  path(runId: string): string {
    // Read when it is first needed: most servers never start a run.
    this.#code ??= codeFingerprint();
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    return join(this.#folder, `${runId}.${this.#code}.jsonl`);
  }

  /** Whether trials of a run were measured by the present code. */
  has(runId: string): boolean {
    return existsSync(this.path(runId));
  }

  remove(runId: string): void {
    this.#removeIf((owner) => owner === runId);
  }

  /** Deletes the files of runs that are no longer in the history. */
  sweep(isKept: (runId: string) => boolean): void {
    this.#removeIf((owner) => !isKept(owner));
  }

  #removeIf(isGone: (runId: string) => boolean): void {
    if (!existsSync(this.#folder)) return;
    for (const file of readdirSync(this.#folder)) {
      if (isGone(file.slice(0, file.indexOf('.')))) rmSync(join(this.#folder, file), { force: true });
    }
  }
}
