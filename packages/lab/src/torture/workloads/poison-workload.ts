/** Messages that exceed their delivery attempts: each moves to the exception queue once, and is consumed there. */
import { browseItems, ensureQueue, type TortureWorkload, type WorkloadContext } from '../workload.ts';
import { inspectQueue } from './queue-workload.ts';

const name = 'poison';
const exceptions = `${name}.exceptions`;
const readyMax = 60;
/** Retry delays and moves to the exception queue do not follow commit order. */
const ordered = false;

export const poisonWorkload: TortureWorkload = {
  name,
  setUp: (instance) => ensureQueue(instance, { name, attemptsMax: 3, retryDelayMs: 10 }),
  start(work: WorkloadContext) {
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      const enqueues = items.next(1 + work.random.below(4));
      for (const item of enqueues) session.enqueue(name, { payload: work.payload(item) });
      await work.commit(session, { enqueues });
    });
    const consume = (queue: string, rollbacks: number) =>
      work.runSessionLoop(async (session) => {
        const messages = await session.dequeue(queue, { max: 1 + work.random.below(4), waitMs: 1_000 });
        const delivered = browseItems(messages, { ordered });
        work.noteDelivered(delivered);
        if (messages.length === 0 || work.random.chance(rollbacks)) return session.rollback();
        await work.commit(session, { consumes: delivered.map(({ item }) => item) });
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
