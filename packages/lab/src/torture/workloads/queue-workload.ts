/** Enqueuers and dequeuers on one queue: transactions of several messages, rollbacks, and transactions that do both. */
import type { QueueSpec } from '@shardlab/engine';
import type { Content } from '../processes/folder-history.ts';
import { hasQueue, type Inspected, itemsOf, type TortureWorkload, type WorkloadContext } from './workload.ts';

export interface QueueWorkloadOptions {
  name: string;
  spec: Omit<QueueSpec, 'name'>;
  /** Whether first deliveries follow the commit order of a session; default true. */
  ordered?: boolean;
  /** Attributes added to each enqueued message. */
  vary?(work: WorkloadContext): { priority?: number; delayMs?: number; groupKey?: string };
}

const readyMax = 150;
const sessions = 2;

export function queueWorkload({
  name,
  spec,
  ordered = true,
  vary = () => ({}),
}: QueueWorkloadOptions): TortureWorkload {
  const put = (work: WorkloadContext) =>
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      for (const item of items.next(1 + work.random.below(9))) work.enqueue(session, name, item, vary(work));
      await work.commit(session);
    });

  const take = (work: WorkloadContext) =>
    work.runSessionLoop(async (session, items) => {
      const messages = await work.dequeue(session, name, { max: 1 + work.random.below(12) });
      if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
      // One transaction in three also enqueues a message, which must be atomic with the consumption.
      const enqueues = work.random.chance(0.3) ? items.next(1) : [];
      for (const item of enqueues) work.enqueue(session, name, item, vary(work));
      await work.commit(session);
    });

  return {
    name,
    sharesMessages: spec.kind === 'unsharded' || spec.kind === 'unsharded-grouped',
    setUp: (work) => work.ensureQueue({ name, ...spec }, { ordered }),
    start(work) {
      for (let i = 0; i < sessions; i += 1) put(work);
      for (let i = 0; i < sessions; i += 1) take(work);
    },
    inspect: async (inspected) => [await inspectQueue(inspected, name)],
  };
}

/** The contents of a queue. Waits for messages that are delayed or still held by a dead process. */
export async function inspectQueue({ instance, history }: Inspected, name: string): Promise<Content> {
  const content: Content = { queue: name, messages: [] };
  if (!hasQueue(instance, name)) return content;
  const session = instance.openSession();
  for (;;) {
    const { ready, delayed } = instance.queue(name);
    if (ready + delayed === 0) return content; // the instance is closed without a commit, so all messages stay
    const messages = await session.dequeue(name, { max: 1_000, waitMs: 5_000 });
    if (messages.length === 0) return content;
    content.messages.push(...itemsOf(name, messages, history));
  }
}
