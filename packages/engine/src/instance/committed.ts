/** What a commit answers. A client that enqueues without looking at the ids does not pay for the strings. */
import { QueueError } from '../core/errors.ts';
import { type IdRun, idsOf } from '../storage/id-runs.ts';
import type { CommitResult, SqlResult } from '../types.ts';

export class Committed implements CommitResult {
  readonly runs: readonly IdRun[];
  #ids: string[] | undefined;
  readonly #results: readonly SqlResult[] | 'lost';

  /** `lost`: there were statements, and what they came to is not known any more. */
  constructor(runs: readonly IdRun[], results: readonly SqlResult[] | 'lost' = []) {
    this.runs = runs;
    this.#results = results;
  }

  get results(): SqlResult[] {
    if (this.#results === 'lost') throw new QueueError('SQL_RESULTS_LOST');
    return [...this.#results];
  }

  get ids(): string[] {
    this.#ids ??= idsOf(this.runs);
    return this.#ids;
  }
}
