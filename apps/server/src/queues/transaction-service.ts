/** Messages and the application's own SQL in one transaction. Knows wire values, but not HTTP. */
import type { Committed, Statement, StatementResult, Transaction } from '@shardlab/contract';
import {
  type CommitResult,
  type Session,
  type SqlParameters,
  type SqlResult,
  valueFromJson,
  valueToJson,
} from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { fromWire } from './message-codec.ts';
import { explainClosedSession } from './moved-instance.ts';

export class TransactionService {
  readonly #cluster: { readonly queues: QueueHost };

  constructor(cluster: { readonly queues: QueueHost }) {
    this.#cluster = cluster;
  }

  /**
   * Resolves once everything is committed. If any part is refused or fails, nothing is. Under an idempotency key the whole is
   * done exactly once.
   */
  async commit(
    transaction: Transaction,
    idempotencyKey?: string,
  ): Promise<{ committed: Committed; replayed: boolean }> {
    const options = idempotencyKey === undefined ? undefined : { idempotencyKey };
    const session = this.#cluster.queues.openSession();
    try {
      stage(session, transaction);
      const result = await session.commit(options);
      return { committed: toCommitted(result, transaction), replayed: result.replayed };
    } catch (error) {
      throw explainClosedSession(error);
    } finally {
      await session.close();
    }
  }
}

/** The first operation decides the instance of the transaction. Enqueues can go to any instance, so they come last. */
function stage(session: Session, { execute = [], acknowledge = [], enqueue = [] }: Transaction): void {
  for (const { sql, parameters } of execute) session.execute(sql, parametersOf(parameters));
  for (const { queue, receipts } of acknowledge) session.acknowledge(queue, receipts);
  for (const { queue, messages } of enqueue) {
    for (const message of messages) session.enqueue(queue, fromWire(message));
  }
}

function parametersOf(parameters: Statement['parameters'] = []): SqlParameters {
  if (Array.isArray(parameters)) return parameters.map(valueFromJson);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, valueFromJson(value)]));
}

function toCommitted(result: CommitResult, { enqueue = [], execute = [] }: Transaction): Committed {
  const { ids, replayed } = result;
  let nextId = 0;
  return {
    ids: enqueue.map(({ messages }) => {
      nextId += messages.length;
      return ids.slice(nextId - messages.length, nextId);
    }),
    ...(replayed && execute.length > 0 ? {} : { results: result.results.map(toStatementResult) }),
  };
}

function toStatementResult({ rows, changes, lastInsertRowid }: SqlResult): StatementResult {
  return {
    rows: rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueToJson(value)])),
    ),
    changes,
    lastInsertRowid: valueToJson(lastInsertRowid),
  };
}
