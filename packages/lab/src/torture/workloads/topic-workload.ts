/** A topic with durable subscribers that each receive every message once; one of them is slower than the others. */
import type { QueueSpec } from '@shardlab/engine';
import type { Content } from '../processes/folder-history.ts';
import { hasQueue, type Inspected, itemsOf, type TortureWorkload, type WorkloadContext } from './workload.ts';

const readyMax = 100;
const subscribers = ['quick', 'slow', 'third'];

export function topicWorkload({ name, spec }: { name: string; spec: Partial<QueueSpec> }): TortureWorkload {
  return {
    name,
    sharesMessages: spec.kind === 'unsharded' || spec.kind === 'unsharded-grouped',
    async setUp(work) {
      await work.ensureQueue({ name, type: 'topic', ...spec }, { ordered: true });
      for (const subscriber of subscribers) await subscribe(work, name, subscriber);
    },
    start(work: WorkloadContext) {
      work.runSessionLoop(async (session, items) => {
        await work.waitWhileBacklogAbove(name, readyMax);
        for (const item of items.next(1 + work.random.below(4))) work.enqueue(session, name, item);
        await work.commit(session);
      });
      for (const subscriber of subscribers) {
        work.runSessionLoop(async (session) => {
          const max = subscriber === 'slow' ? 2 : 1 + work.random.below(8);
          const messages = await work.dequeue(session, name, { subscriber, max });
          if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
          await work.commit(session);
        });
      }
    },
    async inspect({ instance, history }: Inspected) {
      const found: Content[] = subscribers.map((subscriber) => ({ queue: name, subscriber, messages: [] }));
      if (!hasQueue(instance, name)) return found;
      for (const { name: subscriber, backlog } of instance.subscribers(name)) {
        const session = instance.openSession();
        for (let left = backlog; left > 0; ) {
          const messages = await session.dequeue(name, { subscriber, max: 1_000, waitMs: 5_000 });
          if (messages.length === 0) break;
          left -= messages.length;
          const content = found.find((each) => each.subscriber === subscriber);
          content?.messages.push(...itemsOf(name, messages, history));
        }
      }
      return found;
    },
  };
}

/** Another instance may be killed before it has applied the subscription. */
async function subscribe(
  { host, recorder }: WorkloadContext,
  name: string,
  subscriber: string,
): Promise<void> {
  const operation = recorder.begin({ type: 'subscribe', queue: name, subscriber });
  for (;;) {
    try {
      await host.subscribe(name, { name: subscriber });
      operation.end('ok');
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'SUBSCRIBER_PENDING') throw error;
    }
  }
}
