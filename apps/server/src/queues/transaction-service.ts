/** Messages and the application's own SQL in one transaction. Knows the wire's values, but no HTTP. */
import type { Committed, SqlValue, Statement, Transaction } from '@shardlab/contract';
import {
  type CommitResult,
  QueueError,
  type Session,
  type SqlParameters,
  valueFromJson,
  valueToJson,
} from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { fromWire, invalid } from './message-codec.ts';

export class TransactionService {
  readonly #cluster: { readonly queues: QueueHost };

  constructor(cluster: { readonly queues: QueueHost }) {
    this.#cluster = cluster;
  }

  /** Resolves once all of it is committed; nothing is, if anything is refused or fails. */
  async commit(transaction: Transaction): Promise<Committed> {
    const session = this.#cluster.queues.openSession();
    try {
      stage(session, transaction);
      return answer(await session.commit(), transaction);
    } catch (error) {
      // Closed under this call: the instance it was on is moving.
      const isClosed = error instanceof QueueError && error.code === 'SESSION_CLOSED';
      throw isClosed ? new ServerError('TOPOLOGY_CHANGING', { cause: error }) : error;
    } finally {
      await session.close();
    }
  }
}

/** What comes first says on which instance the transaction lies: enqueues go anywhere, the others do not. */
function stage(session: Session, { execute = [], acknowledge = [], enqueue = [] }: Transaction): void {
  for (const [index, { sql, parameters }] of execute.entries()) {
    session.execute(sql, parametersOf(parameters, `/execute/${index}/parameters`));
  }
  for (const { queue, receipts } of acknowledge) session.acknowledge(queue, receipts);
  for (const [index, { queue, messages }] of enqueue.entries()) {
    for (const [no, message] of messages.entries()) {
      session.enqueue(queue, fromWire(message, `/enqueue/${index}/messages/${no}`));
    }
  }
}

function parametersOf(parameters: Statement['parameters'] = [], path: string): SqlParameters {
  const decode = (value: SqlValue, key: string | number) => {
    try {
      return valueFromJson(value);
    } catch (error) {
      throw invalid(`${path}/${key}`, (error as QueueError).message, error);
    }
  };
  if (Array.isArray(parameters)) return parameters.map(decode);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, decode(value, name)]));
}

function answer({ ids, results }: CommitResult, { enqueue = [] }: Transaction): Committed {
  let at = 0;
  return {
    ids: enqueue.map(({ messages }) => {
      at += messages.length;
      return ids.slice(at - messages.length, at);
    }),
    results: results.map(({ rows, changes, lastInsertRowid }) => ({
      rows: rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueToJson(value)])),
      ),
      changes,
      lastInsertRowid: valueToJson(lastInsertRowid),
    })),
  };
}
