/**
 * A queue with forwarding: some processes enqueue, others dequeue. The roles change from process to process, so that
 * messages are also returned to their owner.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { QueueInfo, QueueSpec } from '@shardlab/engine';
import type { Content } from '../processes/folder-history.ts';
import { hasQueue, type Inspected, itemsOf, type TortureWorkload, type WorkloadContext } from './workload.ts';

export interface ForwardedWorkloadOptions {
  name: string;
  spec: Omit<QueueSpec, 'name'>;
}

const sessions = 2;
const readyMax = 150;
const takeMax = 12;
/** While all instances are served and one has consumers, every message must arrive within this time. */
const stuckMs = 30_000;

export function forwardedWorkload({ name, spec }: ForwardedWorkloadOptions): TortureWorkload {
  // With priorities the lane of a message is not known before its delivery, so the order is not checked.
  const ordered = spec.priorities !== true;
  const vary = (work: WorkloadContext) =>
    spec.priorities === true ? { priority: work.random.below(10) } : {};

  const put = (work: WorkloadContext) =>
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      for (const item of items.next(1 + work.random.below(9))) work.enqueue(session, name, item, vary(work));
      await work.commit(session);
    });

  const take = (work: WorkloadContext) =>
    work.runSessionLoop(async (session) => {
      // A consumer that pauses counts as gone: messages are returned to their owner and forwarded again later.
      if (work.random.chance(0.02)) await pause(work.random.below(300));
      const messages = await work.dequeue(session, name, { max: 1 + work.random.below(takeMax) });
      if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
      await work.commit(session);
    });

  return {
    name,
    sharesMessages: true,
    forwards: true,
    setUp: (work) => work.ensureQueue({ name, ...spec, forwarding: true }, { ordered }),
    start(work) {
      for (let i = 0; i < sessions; i += 1) {
        if (work.role !== 'dequeue') put(work);
        if (work.role !== 'enqueue') take(work);
      }
    },
    inspect: async (inspected) => [await inspectForwarded(inspected, name)],
  };
}

/** Forwards all messages of the queue to one instance, and checks that the counts of every instance and of all together add up. */
async function inspectForwarded({ instance, all, history }: Inspected, name: string): Promise<Content> {
  const content: Content = { queue: name, messages: [] };
  if (!hasQueue(instance, name)) return content;
  const session = instance.openSession();
  const since = performance.now();
  for (let taken = 0; ; ) {
    const infos = all.map((hosted) => hosted.queue(name));
    for (const info of infos) assertCountsMatch(info);
    const inFlight = infos.reduce(
      (sum, { forwardedIn, forwardedOut }) => sum + forwardedIn - forwardedOut,
      0,
    );
    const live = infos.reduce((sum, { ready, held, delayed }) => sum + ready + held + delayed, 0);
    if (live === taken && inFlight === 0) return content; // all messages are held here and stay when the instance closes
    if (performance.now() - since > stuckMs)
      throw new Error(`Only ${taken} messages of ${name} arrived: ${JSON.stringify(infos)}`);
    const messages = await session.dequeue(name, { max: 1_000, waitMs: 20 });
    taken += messages.length;
    content.messages.push(...itemsOf(name, messages, history));
  }
}

function assertCountsMatch(info: QueueInfo): void {
  const { enqueued, forwardedIn, ready, held, delayed, consumed, forwardedOut } = info;
  if (enqueued + forwardedIn === ready + held + delayed + consumed + forwardedOut) return;
  throw new Error(`The counts of ${info.name} do not add up: ${JSON.stringify(info)}`);
}
