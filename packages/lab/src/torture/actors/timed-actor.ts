/** Consumers that receive under timed holds: they acknowledge, release, extend, or let the time run out. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Actor, ensureQueue, itemsOf, type Work } from '../actor.ts';
import { inspectQueue } from './queue-actor.ts';

const name = 'timed';
const readyMax = 100;
/** A hold may end while its acknowledgement is on its way. */
const expected = ['RECEIPT_STALE'];

export const timedActor: Actor = {
  name,
  setUp: (instance) => ensureQueue(instance, { name, shards: 2 }),
  start(work: Work) {
    work.forever(async (session, items) => {
      await work.untilRoom(name, readyMax);
      const puts = items.next(1 + work.random.below(5));
      for (const item of puts) session.enqueue(name, { payload: work.payload(item) });
      await work.commit(session, { puts });
    });
    for (let i = 0; i < 3; i += 1) {
      work.forever(async (session) => {
        const holdMs = 10 + work.random.below(60);
        const messages = await session.receive(name, {
          max: 1 + work.random.below(6),
          waitMs: 1_000,
          holdMs,
        });
        const delivered = itemsOf(messages, { ordered: true });
        work.delivered(delivered);
        const receipts = messages.map((message) => message.receipt);
        if (receipts.length === 0) return;
        const choice = work.random.next();
        if (choice < 0.15) return; // its time runs out
        if (choice < 0.3) return session.release(name, receipts).catch(expectStale);
        if (choice < 0.4) {
          await session.extend(name, receipts, 200).catch(expectStale);
          await pause(5);
        }
        try {
          session.acknowledge(name, receipts);
        } catch (error) {
          expectStale(error);
          return session.rollback();
        }
        await work.commit(session, { takes: delivered.map(({ item }) => item) }, expected);
      });
    }
  },
  inspect: (instance) => inspectQueue(instance, name, { ordered: true }),
};

function expectStale(error: unknown): void {
  if (!expected.includes((error as { code?: string }).code ?? '')) throw error;
}
