/** Messages that are handed out too often: each moves to the exception queue once, where somebody else takes it. */
import { type Actor, ensureQueue, itemsOf, type Work } from '../actor.ts';
import { inspectQueue } from './queue-actor.ts';

const name = 'poison';
const exceptions = `${name}.exceptions`;
const readyMax = 60;
/** The pause of a message that came back, and its way to the exception queue, follow no order of commits. */
const ordered = false;

export const poisonActor: Actor = {
  name,
  setUp: (instance) => ensureQueue(instance, { name, attemptsMax: 3, retryDelayMs: 10 }),
  start(work: Work) {
    work.forever(async (session, items) => {
      await work.untilRoom(name, readyMax);
      const puts = items.next(1 + work.random.below(4));
      for (const item of puts) session.enqueue(name, { payload: work.payload(item) });
      await work.commit(session, { puts });
    });
    const consume = (queue: string, rollbacks: number) =>
      work.forever(async (session) => {
        const messages = await session.dequeue(queue, { max: 1 + work.random.below(4), waitMs: 1_000 });
        const delivered = itemsOf(messages, { ordered });
        work.delivered(delivered);
        if (messages.length === 0 || work.random.chance(rollbacks)) return session.rollback();
        await work.commit(session, { takes: delivered.map(({ item }) => item) });
      });
    consume(name, 0.6);
    consume(name, 0.6);
    consume(exceptions, 0.1);
  },
  async inspect(instance) {
    const left = await inspectQueue(instance, name, { ordered });
    return [...left, ...(await inspectQueue(instance, exceptions, { ordered }))];
  },
};
