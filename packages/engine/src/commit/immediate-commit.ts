/**
 * Commits a transaction on nonpersistent logs at once. In one step it does what a group does between its closing and its answer:
 * numbers the enqueued messages, makes them visible, and makes the dequeued ones terminal. There is nothing to write, so the call
 * waits neither for the writer nor for the end of the turn. No group commit may append to these logs: a group in flight would
 * have numbered its messages already.
 */
import type { MessageLog } from '../log/message-log.ts';
import type { GroupCommit } from './group-commit.ts';
import { stopReason } from './instance-failure.ts';
import { appendRun, numberRun, type StagedTransaction } from './staged-transaction.ts';
import { traceNumbered } from './trace-numbered.ts';

export interface ImmediateCommitOptions {
  groupCommit: Pick<GroupCommit, 'failure' | 'fail'>;
  /** Called with the log of each run that became visible. */
  onVisible(log: MessageLog): void;
}

export class ImmediateCommit {
  readonly #options: ImmediateCommitOptions;

  constructor(options: ImmediateCommitOptions) {
    this.#options = options;
  }

  /** Throws why the instance has stopped, or stops. */
  commit(transaction: StagedTransaction): void {
    const { groupCommit, onVisible } = this.#options;
    if (groupCommit.failure !== undefined) throw groupCommit.failure;
    try {
      this.#apply(transaction);
    } catch (error) {
      groupCommit.fail(stopReason(error));
      throw groupCommit.failure ?? error;
    }
    for (const { log } of transaction.runs) onVisible(log);
  }

  #apply(transaction: StagedTransaction): void {
    const { runs, deliveries } = transaction;
    for (const run of runs) {
      numberRun(run);
      if (run.log.tracesNew(run.firstSeq, run.count)) traceNumbered(transaction, run);
      appendRun(run);
      run.log.assertConsistent();
    }
    for (const delivery of deliveries) {
      const { cursor, firstSeq, count } = delivery;
      cursor.consume([delivery], [[firstSeq, firstSeq + count]]);
      cursor.assertConsistent();
    }
  }
}
