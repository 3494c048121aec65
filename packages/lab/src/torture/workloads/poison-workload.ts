/** Messages that exceed their delivery attempts: each moves to the exception queue once, and is consumed there. */
import { setTimeout as pause } from 'node:timers/promises';
import { inspectQueue } from './queue-workload.ts';
import { hasQueue, type TortureWorkload, type WorkloadContext } from './workload.ts';

const name = 'poison';
const exceptions = `${name}.exceptions`;
const readyMax = 60;
/** A message whose attempts a crash left used up is on its way to the exception queue. */
const moveMsMax = 5_000;

export const poisonWorkload: TortureWorkload = {
  name,
  // Retry delays and moves to the exception queue do not follow commit order.
  setUp: (work) =>
    work.ensureQueue(
      { name, attemptsMax: 3, attemptsCounted: 'on-delivery', retryDelayMs: 10 },
      { ordered: false },
    ),
  start(work: WorkloadContext) {
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      for (const item of items.next(1 + work.random.below(4))) work.enqueue(session, name, item);
      await work.commit(session);
    });
    const consume = (queue: string, rollbacks: number) =>
      work.runSessionLoop(async (session) => {
        const messages = await work.dequeue(session, queue, { max: 1 + work.random.below(4) });
        if (messages.length === 0 || work.random.chance(rollbacks)) return session.rollback();
        await work.commit(session);
      });
    consume(name, 0.6);
    consume(name, 0.6);
    consume(exceptions, 0.1);
  },
  async inspect(inspected) {
    const { instance } = inspected;
    const left = await inspectQueue(inspected, name);
    const isMoving = () => hasQueue(instance, name) && instance.queue(name).held > left.messages.length;
    for (const since = performance.now(); isMoving() && performance.now() - since < moveMsMax; )
      await pause(1);
    return [left, await inspectQueue(inspected, exceptions)];
  },
};
