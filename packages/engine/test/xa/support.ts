/** Calls that tests of branches share. */
import { expect } from 'vitest';
import type { Instance, Session, XaSession, Xid } from '../../src/index.ts';
import { text } from '../folder.ts';

export const code = (value: string) => expect.objectContaining({ code: value });

export const xaOf = (session: Session): XaSession => session.xa!;

/** Commits messages to a queue. */
export async function put(
  instance: Pick<Instance, 'openSession'>,
  queue: string,
  ...payloads: string[]
): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue(queue, { payload });
  await session.commit();
  await session.close();
}

/** Consumes all ready messages; returns their payloads, sorted. */
export async function takeAll(instance: Pick<Instance, 'openSession'>, queue: string): Promise<string[]> {
  const session = instance.openSession();
  const payloads: string[] = [];
  // A dequeue gives returned messages first and alone, since the others may have to be read from the file.
  for (;;) {
    const messages = await session.dequeue(queue, { max: 1_000 });
    if (messages.length === 0) break;
    payloads.push(...text(messages));
  }
  await session.commit();
  await session.close();
  return payloads.sort();
}

/** Ends a branch that consumes the ready messages of `orders` and enqueues `payloads` to `shipments`. Resolves with its session. */
export async function endedBranch(instance: Instance, xid: Xid, ...payloads: string[]): Promise<Session> {
  const session = instance.openSession();
  await xaOf(session).start(xid);
  await session.dequeue('orders', { max: 1_000 });
  for (const payload of payloads) session.enqueue('shipments', { payload });
  await xaOf(session).end(xid);
  return session;
}
