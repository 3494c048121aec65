/**
 * Calls on queues with immediate visibility. Each is a transaction of its own beside that of the session, staged as any
 * other and committed in memory before the call resolves.
 */

import type { Message, NewMessage } from '../api/message.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { SessionNumber } from '../model/ids.ts';
import { type RecordRun, recordEnd } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { LazyCommitResult } from '../model/session-calls.ts';
import type { DeliveryLease } from './delivery-lease.ts';
import { assertMayEnqueue, type ConsumedPerSec } from './flow-control.ts';
import type {
  ImmediateCalls,
  MaybeLater,
  SendContent,
  SendOptions,
  ValidDequeueOptions,
} from './queue-engine.ts';
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

  enqueue(
    row: QueueRow,
    session: SessionNumber,
    messages: readonly NewMessage[],
  ): MaybeLater<LazyCommitResult> {
    return this.#inTurn(messages.length, () => this.#enqueueNow(row, session, messages));
  }

  enqueueRecords(row: QueueRow, session: SessionNumber, records: RecordRun): MaybeLater<LazyCommitResult> {
    return this.#inTurn(records.count, () => this.#enqueueNow(row, session, records));
  }

  send(
    row: QueueRow,
    session: SessionNumber,
    content: SendContent,
    options: SendOptions,
  ): MaybeLater<LazyCommitResult> {
    const count = countOf(content);
    if (count > (row.messagesMax ?? count)) return this.#sendInParts(row, session, content, options);
    const enqueue = () => this.#enqueueNow(row, session, content);
    return options.blockMs === 0
      ? this.#inTurn(count, enqueue)
      : this.#sendWhenRoom(row, { count, enqueue }, options);
  }

  /** A send of more messages than the queue may hold at once is sent in parts, each of which waits for room. */
  async #sendInParts(
    row: QueueRow,
    session: SessionNumber,
    content: SendContent,
    options: SendOptions,
  ): Promise<LazyCommitResult> {
    const idRuns: IdRun[] = [];
    for (const part of partsOf(content, row.messagesMax!)) {
      options.assertTakesMessages(); // the parts before may have waited
      idRuns.push(...(await this.send(row, session, part, options)).idRuns);
    }
    return new LazyCommitResult(idRuns);
  }

  /** A send that is refused in the end counts as refused once, however many attempts it took. */
  async #sendWhenRoom(
    row: QueueRow,
    { count, enqueue }: { count: number; enqueue: () => LazyCommitResult },
    options: SendOptions,
  ): Promise<LazyCommitResult> {
    const queue = this.#options.transactions.context.queues.getOrCreate(row);
    const tryEnqueue = () => {
      options.assertTakesMessages();
      const { refused } = queue;
      try {
        return enqueue();
      } finally {
        queue.refused = refused;
      }
    };
    try {
      return await queue.blockedSends.send(tryEnqueue, options);
    } catch (error) {
      queue.refused += count;
      throw error;
    } finally {
      const turn = this.#options.budget.take(Math.max(1, count));
      if (turn !== undefined) await turn;
    }
  }

  #enqueueNow(row: QueueRow, session: SessionNumber, content: SendContent): LazyCommitResult {
    const transaction = this.#beginEnqueue(row, session, countOf(content));
    if (isMessages(content)) for (const message of content) transaction.enqueue(row, message);
    else transaction.enqueueRecords(row, content);
    return transaction.commitNow();
  }

  #beginEnqueue(row: QueueRow, session: SessionNumber, count: number): ShardedTransaction {
    const { transactions, lease, consumedPerSec } = this.#options;
    lease?.assertHeld(); // a process that lost the instance would accept messages that nobody can dequeue
    assertMayEnqueue(transactions.context.queues.getOrCreate(row), count, consumedPerSec);
    return transactions.beginTransaction(session, undefined);
  }

  /** Enqueues at once; the caller resumes, with the result or the error, when the budget of the turn allows it. */
  #inTurn<T>(operations: number, enqueue: () => T): MaybeLater<T> {
    const turn = this.#options.budget.take(Math.max(1, operations));
    return turn === undefined ? enqueue() : resumeIn(turn, enqueue);
  }

  async dequeue(row: QueueRow, session: SessionNumber, options: ValidDequeueOptions): Promise<Message[]> {
    const transaction = this.#options.transactions.beginTransaction(session, options.time);
    const messages = await transaction.dequeue(row, options);
    if (messages.length > 0) transaction.commitNow();
    const turn = this.#options.budget.take(Math.max(1, messages.length));
    if (turn !== undefined) await turn;
    return messages;
  }
}

function countOf(content: SendContent): number {
  return isMessages(content) ? content.length : content.count;
}

function* partsOf(content: SendContent, messagesMax: number): Generator<SendContent> {
  if (isMessages(content)) {
    for (let from = 0; from < content.length; from += messagesMax)
      yield content.slice(from, from + messagesMax);
    return;
  }
  const { source, end } = content;
  for (let { start, count } = content; count > 0; ) {
    const taken = Math.min(count, messagesMax);
    let partEnd = start;
    for (let i = 0; i < taken; i += 1) partEnd = recordEnd(source, partEnd);
    yield { source, start, end: Math.min(partEnd, end), count: taken };
    start = partEnd;
    count -= taken;
  }
}

function isMessages(content: SendContent): content is readonly NewMessage[] {
  return Array.isArray(content);
}

async function resumeIn<T>(turn: Promise<void>, work: () => T): Promise<T> {
  try {
    return work();
  } finally {
    await turn;
  }
}
