/**
 * A queue whose messages move: some processes put them in, others take them out, and who does what changes from process to
 * process, so that messages also go home.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Instance, QueueInfo, QueueSpec } from '@shardlab/engine';
import { type Actor, ensureQueue, hasQueue, itemsOf, type Work } from '../actor.ts';
import { unnotedMax } from '../ledger.ts';
import type { Delivered } from '../notes.ts';

export interface ForwardedActorOptions {
  name: string;
  spec: Omit<QueueSpec, 'name'>;
}

const sessions = 2;
const readyMax = 150;
const takeMax = unnotedMax / sessions;
/** So long nothing may be missing where all instances are served and one has consumers. */
const stuckMs = 30_000;

export function forwardedActor({ name, spec }: ForwardedActorOptions): Actor {
  // Which lane a message is in is not known before it comes: their order is the queue's own matter here.
  const ordered = spec.priorities !== true;
  const vary = (work: Work) => (spec.priorities === true ? { priority: work.random.below(10) } : {});

  const put = (work: Work) =>
    work.forever(async (session, items) => {
      await work.untilRoom(name, readyMax);
      const puts = items.next(1 + work.random.below(9));
      for (const item of puts) session.enqueue(name, { payload: work.payload(item), ...vary(work) });
      await work.commit(session, { puts });
    });

  const take = (work: Work) =>
    work.forever(async (session) => {
      // A consumer that does not wait for a while counts as gone: then messages go home, and come again.
      if (work.random.chance(0.02)) await pause(work.random.below(300));
      const messages = await session.dequeue(name, { max: 1 + work.random.below(takeMax), waitMs: 1_000 });
      const delivered = itemsOf(messages, { ordered, moves: true });
      work.delivered(delivered);
      if (messages.length === 0 || work.random.chance(0.15)) return session.rollback();
      await work.commit(session, { takes: delivered.map(({ item }) => item) });
    });

  return {
    name,
    shared: true,
    forwards: true,
    setUp: (host) => ensureQueue(host, { name, ...spec, forwarding: true }),
    start(work) {
      for (let i = 0; i < sessions; i += 1) {
        if (work.role !== 'takes') put(work);
        if (work.role !== 'puts') take(work);
      }
    },
    inspect: (instance, all) => inspectForwarded(instance, all, { name, ordered }),
  };
}

/** Has all that the queue holds anywhere come to one instance, and its counts add up there and over all. */
async function inspectForwarded(
  instance: Instance,
  all: readonly Instance[],
  { name, ordered }: { name: string; ordered: boolean },
): Promise<Delivered[]> {
  if (!hasQueue(instance, name)) return [];
  const session = instance.openSession();
  const found: Delivered[] = [];
  const since = performance.now();
  for (let taken = 0; ; ) {
    const infos = all.map((each) => each.queue(name));
    for (const info of infos) assertAddsUp(info);
    const between = infos.reduce((sum, { movedIn, movedOut }) => sum + movedIn - movedOut, 0);
    const live = infos.reduce((sum, { ready, held, delayed }) => sum + ready + held + delayed, 0);
    if (live === taken && between === 0) return found; // all is held here: it stays when the instance closes
    if (performance.now() - since > stuckMs)
      throw new Error(`${taken} messages of ${name} came: ${JSON.stringify(infos)}`);
    const messages = await session.dequeue(name, { max: 1_000, waitMs: 20 });
    taken += messages.length;
    found.push(...itemsOf(messages, { ordered, moves: true }));
  }
}

function assertAddsUp(info: QueueInfo): void {
  const { enqueued, movedIn, ready, held, delayed, consumed, movedOut } = info;
  if (enqueued + movedIn === ready + held + delayed + consumed + movedOut) return;
  throw new Error(`The counts of ${info.name} do not add up: ${JSON.stringify(info)}`);
}
