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
import type { ImmediateCalls, ValidDequeueOptions } from './queue-engine.ts';
import type { ShardedTransaction, ShardedTransactions } from './sharded-transaction.ts';
import type { TurnBudget } from './turn-budget.ts';

export interface ShardedImmediateCallsOptions {
  transactions: ShardedTransactions;
  lease: DeliveryLease | undefined;
  consumedPerSec: ConsumedPerSec;
  budget: TurnBudget;
}

interface Enqueue {
  row: QueueRow;
  session: number;
  count: number;
}

export class ShardedImmediateCalls implements ImmediateCalls {
  readonly #options: ShardedImmediateCallsOptions;

  constructor(options: ShardedImmediateCallsOptions) {
    this.#options = options;
  }

  enqueue(row: QueueRow, session: number, messages: readonly NewMessage[]): Promise<LazyCommitResult> {
    return this.#enqueue({ row, session, count: messages.length }, (transaction) => {
      for (const message of messages) transaction.enqueue(row, message);
    });
  }

  enqueueRecords(row: QueueRow, session: number, records: RecordRun): Promise<LazyCommitResult> {
    return this.#enqueue({ row, session, count: records.count }, (transaction) =>
      transaction.enqueueRecords(row, records),
    );
  }

  async #enqueue(
    { row, session, count }: Enqueue,
    stage: (transaction: ShardedTransaction) => void,
  ): Promise<LazyCommitResult> {
    const { transactions, lease, consumedPerSec, budget } = this.#options;
    const turn = budget.take(Math.max(1, count));
    try {
      lease?.assertHeld(); // a process that lost the instance would accept messages that nobody can dequeue
      assertMayEnqueue(transactions.context.queues.getOrCreate(row), count, consumedPerSec);
      const transaction = transactions.beginTransaction(session);
      stage(transaction);
      return transaction.commitNow();
    } finally {
      if (turn !== undefined) await turn;
    }
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
