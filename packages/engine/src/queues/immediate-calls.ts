/**
 * Calls on queues with immediate visibility. Each is a transaction of its own beside that of the session, staged as any
 * other and committed in memory before the call resolves.
 */
import type { Message, NewMessage } from '../api/message.ts';
import type { RecordRun } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import type { DeliveryLease } from './delivery-lease.ts';
import { assertMayEnqueue, type ConsumedPerSec } from './flow-control.ts';
import type { ImmediateCalls, MaybeLater, ValidDequeueOptions } from './queue-engine.ts';
import type { ShardedTransaction, ShardedTransactions } from './sharded-transaction.ts';
import type { TurnBudget } from './turn-budget.ts';

export interface ShardedImmediateCallsOptions {
  transactions: ShardedTransactions;
  lease: DeliveryLease | undefined;
  consumedPerSec: ConsumedPerSec;
  budget: TurnBudget;
}

export class ShardedImmediateCalls implements ImmediateCalls {
  readonly #options: ShardedImmediateCallsOptions;

  constructor(options: ShardedImmediateCallsOptions) {
    this.#options = options;
  }

  enqueue(row: QueueRow, session: number, messages: readonly NewMessage[]): MaybeLater<LazyCommitResult> {
    return this.#inTurn(messages.length, () => {
      const transaction = this.#beginEnqueue(row, session, messages.length);
      for (const message of messages) transaction.enqueue(row, message);
      return transaction.commitNow();
    });
  }

  enqueueRecords(row: QueueRow, session: number, records: RecordRun): MaybeLater<LazyCommitResult> {
    return this.#inTurn(records.count, () => {
      const transaction = this.#beginEnqueue(row, session, records.count);
      transaction.enqueueRecords(row, records);
      return transaction.commitNow();
    });
  }

  #beginEnqueue(row: QueueRow, session: number, count: number): ShardedTransaction {
    const { transactions, lease, consumedPerSec } = this.#options;
    lease?.assertHeld(); // a process that lost the instance would accept messages that nobody can dequeue
    assertMayEnqueue(transactions.context.queues.getOrCreate(row), count, consumedPerSec);
    return transactions.beginTransaction(session);
  }

  /** Enqueues at once; the caller resumes, with the result or the error, when the budget of the turn allows it. */
  #inTurn<T>(operations: number, enqueue: () => T): MaybeLater<T> {
    const turn = this.#options.budget.take(Math.max(1, operations));
    return turn === undefined ? enqueue() : resumeIn(turn, enqueue);
  }

  async dequeue(row: QueueRow, session: number, options: ValidDequeueOptions): Promise<Message[]> {
    const transaction = this.#options.transactions.beginTransaction(session);
    const messages = await transaction.dequeue(row, options);
    if (messages.length > 0) transaction.commitNow();
    const turn = this.#options.budget.take(Math.max(1, messages.length));
    if (turn !== undefined) await turn;
    return messages;
  }
}

async function resumeIn<T>(turn: Promise<void>, work: () => T): Promise<T> {
  try {
    return work();
  } finally {
    await turn;
  }
}
