/** A topic with durable subscribers that each receive every message once; one of them is slower than the others. */
import type { Instance } from '@shardlab/engine';
import type { Delivered } from '../notes.ts';
import {
  browseItems,
  ensureQueue,
  type Host,
  hasQueue,
  type TortureWorkload,
  type WorkloadContext,
} from '../workload.ts';

const name = 'topic';
const readyMax = 100;
const subscribers = ['quick', 'slow', 'third'];

export const topicWorkload: TortureWorkload = {
  name,
  async setUp(instance) {
    await ensureQueue(instance, { name, type: 'topic', shards: 2 });
    for (const subscriber of subscribers) await subscribe(instance, subscriber);
  },
  start(work: WorkloadContext) {
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      const published = items.next(1 + work.random.below(4));
      for (const item of published) session.enqueue(name, { payload: work.payload(item) });
      const enqueues = published.flatMap((item) => subscribers.map((subscriber) => `${item}@${subscriber}`));
      await work.commit(session, { enqueues });
    });
    for (const subscriber of subscribers) {
      work.runSessionLoop(async (session) => {
        const max = subscriber === 'slow' ? 2 : 1 + work.random.below(8);
        const messages = await session.dequeue(name, { subscriber, max, waitMs: 1_000 });
        const delivered = browseItems(messages, { ordered: true, subscriber });
        work.noteDelivered(delivered);
        if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
        await work.commit(session, { consumes: delivered.map(({ item }) => item) });
      });
    }
  },
  async inspect(instance: Instance) {
    if (!hasQueue(instance, name)) return [];
    const found: Delivered[] = [];
    for (const { name: subscriber, backlog } of instance.subscribers(name)) {
      const session = instance.openSession();
      for (let left = backlog; left > 0; ) {
        const messages = await session.dequeue(name, { subscriber, max: 1_000, waitMs: 5_000 });
        if (messages.length === 0) break;
        left -= messages.length;
        found.push(...browseItems(messages, { ordered: true, subscriber }));
      }
    }
    return found;
  },
};

/** Another instance may be killed before it has applied the subscription. */
async function subscribe(instance: Host, subscriber: string): Promise<void> {
  for (;;) {
    try {
      await instance.subscribe(name, { name: subscriber });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'SUBSCRIBER_PENDING') throw error;
    }
  }
}
