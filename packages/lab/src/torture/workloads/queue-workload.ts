/** Enqueuers and dequeuers on one queue: transactions of several messages, rollbacks, and transactions that do both. */
import type { Instance, QueueSpec } from '@shardlab/engine';
import type { Delivered } from '../notes.ts';
import {
  browseItems,
  ensureQueue,
  hasQueue,
  type TortureWorkload,
  type WorkloadContext,
} from '../workload.ts';

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
      const enqueues = items.next(1 + work.random.below(9));
      for (const item of enqueues) session.enqueue(name, { payload: work.payload(item), ...vary(work) });
      await work.commit(session, { enqueues });
    });

  const take = (work: WorkloadContext) =>
    work.runSessionLoop(async (session, items) => {
      const messages = await session.dequeue(name, { max: 1 + work.random.below(12), waitMs: 1_000 });
      const delivered = browseItems(messages, { ordered });
      work.noteDelivered(delivered);
      if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
      // One transaction in three also enqueues a message, which must be atomic with the consumption.
      const enqueues = work.random.chance(0.3) ? items.next(1) : [];
      for (const item of enqueues) session.enqueue(name, { payload: work.payload(item), ...vary(work) });
      await work.commit(session, { enqueues, consumes: delivered.map(({ item }) => item) });
    });

  return {
    name,
    sharesMessages: spec.kind === 'unsharded',
    setUp: (instance) => ensureQueue(instance, { name, ...spec }),
    start(work) {
      for (let i = 0; i < sessions; i += 1) put(work);
      for (let i = 0; i < sessions; i += 1) take(work);
    },
    inspect: (instance) => inspectQueue(instance, name, { ordered }),
  };
}

/** The contents of a queue. Waits for messages that are delayed or still held by a dead process. */
export async function inspectQueue(
  instance: Instance,
  name: string,
  options: { ordered: boolean },
): Promise<Delivered[]> {
  if (!hasQueue(instance, name)) return [];
  const session = instance.openSession();
  const found: Delivered[] = [];
  for (;;) {
    const { ready, delayed } = instance.queue(name);
    if (ready + delayed === 0) return found; // the instance is closed without a commit, so all messages stay
    const messages = await session.dequeue(name, { max: 1_000, waitMs: 5_000 });
    if (messages.length === 0) return found;
    found.push(...browseItems(messages, options));
  }
}
