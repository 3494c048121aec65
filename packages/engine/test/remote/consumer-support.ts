/** Shared by tests of consumers: a queue `q` with a client, enqueuing to it, and receiving from it. */
import type { ClientSession, Instance, Message, QueueSpec, RemoteInstance } from '../../src/index.ts';
import { openTestClient, openTestInstance } from '../folder.ts';

export async function openQueue(
  spec: Partial<QueueSpec> = {},
): Promise<{ instance: Instance; client: RemoteInstance; session: ClientSession }> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', ...spec });
  const client = await openTestClient(instance);
  return { instance, client, session: client.openSession() };
}

/** Commits messages to `q`. */
export async function fill(instance: Instance, payloads: readonly string[], priority = 0): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('q', { payload, priority });
  await session.commit();
}

export const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

export const payloadOf = (message: Message | undefined) => message?.payload.toString();

/** Receives `count` messages, one after the other. */
export async function receiveAll(
  consumer: { receive(options: object): Promise<Message | undefined> },
  count: number,
): Promise<Message[]> {
  const messages: Message[] = [];
  while (messages.length < count) messages.push((await consumer.receive({ waitMs: 10_000 }))!);
  return messages;
}
