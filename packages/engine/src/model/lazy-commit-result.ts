/** What a commit answers. A client that enqueues without looking at the ids does not pay for the strings. */
import { QueueError } from '../api/errors.ts';
import type { CommitResult } from '../api/session.ts';
import type { SqlResult } from '../api/sql.ts';
import { type IdRun, messageIdsOf } from '../model/id-runs.ts';

export class LazyCommitResult implements CommitResult {
  readonly idRuns: readonly IdRun[];
  #ids: string[] | undefined;
  readonly #results: readonly SqlResult[] | 'lost';

  /** `lost`: there were statements, and what they came to is not known any more. */
  constructor(runs: readonly IdRun[], results: readonly SqlResult[] | 'lost' = []) {
    this.idRuns = runs;
    this.#results = results;
  }

  get results(): SqlResult[] {
    if (this.#results === 'lost') throw new QueueError('SQL_RESULTS_LOST');
    return [...this.#results];
  }

  get ids(): string[] {
    this.#ids ??= messageIdsOf(this.idRuns);
    return this.#ids;
  }
}
