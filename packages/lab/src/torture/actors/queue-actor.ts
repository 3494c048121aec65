/** Enqueuers and dequeuers on one queue: transactions of several messages, rollbacks, and a message in for messages out. */
import type { Instance, QueueSpec } from '@shardlab/engine';
import { type Actor, ensureQueue, hasQueue, itemsOf, type Work } from '../actor.ts';
import type { Delivered } from '../notes.ts';

export interface QueueActorOptions {
  name: string;
  spec: Omit<QueueSpec, 'name'>;
  /** Whether its first deliveries follow the commits of a session; default true. */
  ordered?: boolean;
  /** What an enqueue adds to a message. */
  vary?(work: Work): { priority?: number; delayMs?: number; groupKey?: string };
}

const readyMax = 150;
const sessions = 2;

export function queueActor({ name, spec, ordered = true, vary = () => ({}) }: QueueActorOptions): Actor {
  const put = (work: Work) =>
    work.forever(async (session, items) => {
      await work.untilRoom(name, readyMax);
      const puts = items.next(1 + work.random.below(9));
      for (const item of puts) session.enqueue(name, { payload: work.payload(item), ...vary(work) });
      await work.commit(session, { puts });
    });

  const take = (work: Work) =>
    work.forever(async (session, items) => {
      const messages = await session.dequeue(name, { max: 1 + work.random.below(12), waitMs: 1_000 });
      const delivered = itemsOf(messages, { ordered });
      work.delivered(delivered);
      if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
      // One in three puts a message back in for those that it takes out: both or neither.
      const puts = work.random.chance(0.3) ? items.next(1) : [];
      for (const item of puts) session.enqueue(name, { payload: work.payload(item), ...vary(work) });
      await work.commit(session, { puts, takes: delivered.map(({ item }) => item) });
    });

  return {
    name,
    shared: spec.kind === 'unsharded',
    setUp: (instance) => ensureQueue(instance, { name, ...spec }),
    start(work) {
      for (let i = 0; i < sessions; i += 1) put(work);
      for (let i = 0; i < sessions; i += 1) take(work);
    },
    inspect: (instance) => inspectQueue(instance, name, { ordered }),
  };
}

/** All that a queue holds. What is held under the hood of a dead process or not due yet is waited for. */
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
    if (ready + delayed === 0) return found; // the instance is closed without a commit: all of it stays
    const messages = await session.dequeue(name, { max: 1_000, waitMs: 5_000 });
    if (messages.length === 0) return found;
    found.push(...itemsOf(messages, options));
  }
}
