/**
 * Random transactions of messages and rows by several sessions, some with queries, some of which fail, in groups and with reopening in
 * between, against a model that does each transaction as a whole or not at all.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Instance, openInstance, type Session } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { rowsOf } from './application.ts';

interface Transaction {
  /** Queries each row before it changes the row, and rolls back instead of violating the constraint. */
  usesQueries: boolean;
  puts: number;
  takes: number;
  /** Amounts added to the stock of rows. The transaction fails if a sum is below 0. */
  changes: { row: number; by: number }[];
}

interface Model {
  stock: Map<number, number>;
  /** The numbers that are the payloads of stored messages. */
  live: Set<number>;
  next: number;
}

const rows = [0, 1, 2];

const transaction: fc.Arbitrary<Transaction> = fc.record({
  usesQueries: fc.boolean(),
  puts: fc.nat(3),
  takes: fc.nat(2),
  changes: fc.array(fc.record({ row: fc.constantFrom(...rows), by: fc.integer({ min: -3, max: 3 }) }), {
    maxLength: 3,
  }),
});

/** The transactions of a round commit in one group, in this order. */
const round = fc.array(transaction, { minLength: 1, maxLength: 5 });

function apply(model: Model, { changes }: Transaction): boolean {
  const stock = new Map(model.stock);
  for (const { row, by } of changes) {
    const sum = stock.get(row)! + by;
    if (sum < 0) return false;
    stock.set(row, sum);
  }
  model.stock = stock;
  return true;
}

/** Resolves with whether the transaction committed. */
async function commitWithQueries(session: Session, { changes }: Transaction): Promise<boolean> {
  for (const { row, by } of changes) {
    const { rows: found } = await session.query('SELECT amount FROM stock WHERE row = ?', [row]);
    const sum = Number(found[0]!.amount) + by;
    if (sum < 0) {
      await session.rollback();
      return false;
    }
    await session.query('UPDATE stock SET amount = ? WHERE row = ?', [sum, row]);
  }
  await session.commit();
  return true;
}

/** Ends the transaction; resolves with whether it committed. Transactions take effect in the order of these calls. */
async function finish(session: Session, each: Transaction): Promise<boolean> {
  if (each.usesQueries) return await commitWithQueries(session, each);
  for (const { row, by } of each.changes) {
    session.execute('UPDATE stock SET amount = amount + ? WHERE row = ?', [by, row]);
  }
  return await session.commit().then(
    () => true,
    () => false,
  );
}

async function commitRound(
  instance: Instance,
  model: Model,
  transactions: readonly Transaction[],
): Promise<void> {
  const played = [];
  for (const each of transactions) {
    const session = instance.openSession();
    const taken = each.takes === 0 ? [] : await session.dequeue('q', { max: each.takes });
    const put = Array.from({ length: each.puts }, () => model.next++);
    for (const payload of put) session.enqueue('q', { payload: String(payload) });
    played.push({ each, session, put, taken: taken.map(({ payload }) => Number(payload)) });
  }
  const ended = await Promise.all(played.map(({ session, each }) => finish(session, each)));
  for (const [index, { each, put, taken, session }] of played.entries()) {
    const done = apply(model, each);
    expect(ended[index]).toBe(done);
    await session.close();
    if (!done) continue;
    for (const payload of put) model.live.add(payload);
    for (const payload of taken) expect(model.live.delete(payload)).toBe(true);
  }
}

async function check(instance: Instance, model: Model): Promise<void> {
  const stock = await rowsOf(instance, 'SELECT row, amount FROM stock ORDER BY row');
  expect(stock).toEqual(rows.map((row) => ({ row, amount: model.stock.get(row) })));
  const { messages } = await instance.browse('q', { limit: 1_000 });
  const found = messages.map(({ payload }) => Number(payload)).sort((a, b) => a - b);
  expect(found).toEqual([...model.live].sort((a, b) => a - b));
  expect(instance.queue('q')).toMatchObject({ ready: model.live.size, held: 0 });
}

it('a transaction is stored as a whole or not at all, across reopening', { timeout: 300_000 }, async () => {
  const folder = makeFolder();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(round, { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      async (lives) => {
        run += 1;
        const dir = `${folder}/${run}`;
        const model: Model = { stock: new Map(rows.map((row) => [row, 2])), live: new Set(), next: 1 };
        for (const [life, rounds] of [...lives, []].entries()) {
          const instance = await openInstance({
            dir,
            partitionMessagesMax: 3,
            writerReservationMsMax: 10_000,
          });
          try {
            if (life === 0) {
              await instance.createQueue({ name: 'q', shards: 2, attemptsMax: null });
              const session = instance.openSession();
              session.execute(
                'CREATE TABLE stock (row INTEGER PRIMARY KEY, amount INTEGER CHECK (amount >= 0))',
              );
              for (const row of rows) session.execute('INSERT INTO stock VALUES (?, 2)', [row]);
              await session.commit();
            }
            await check(instance, model);
            for (const transactions of rounds) await commitRound(instance, model, transactions);
            await check(instance, model);
          } finally {
            await instance.close();
          }
        }
      },
    ),
    { numRuns: isTorture ? 12 : 4 },
  );
});
