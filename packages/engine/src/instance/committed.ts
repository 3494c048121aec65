/** What a commit answers. A client that enqueues without looking at the ids does not pay for the strings. */
import { type IdRun, idsOf } from '../storage/id-runs.ts';
import type { CommitResult } from '../types.ts';

export class Committed implements CommitResult {
  readonly runs: readonly IdRun[];
  #ids: string[] | undefined;

  constructor(runs: readonly IdRun[]) {
    this.runs = runs;
  }

  get ids(): string[] {
    this.#ids ??= idsOf(this.runs);
    return this.#ids;
  }
}
