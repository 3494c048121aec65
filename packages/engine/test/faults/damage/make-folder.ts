/**
 * A process that fills a folder with every kind of content and then either closes its instances, or waits to be killed so that the
 * logs are not empty. `node make-folder.ts <folder> <closed|killed>`; prints `ready` when the folder is filled.
 */
import { cpSync } from 'node:fs';
import {
  type DequeueOptions,
  type Instance,
  openInstance,
  type Session,
  serveInstance,
} from '../../../src/index.ts';
import type { LocalInstance } from '../../../src/runtime/local-instance.ts';
import { keyOf, partitionMessagesMax, payloadOfKey, sessionId, stages, streamBytes } from './content.ts';

const [dir = '', end = 'closed'] = process.argv.slice(2);
const dayMs = 86_400_000;
const body = (name: string) => `${name};`.padEnd(150, '.');

async function put(session: Session, queue: string, names: string[], more: object = {}): Promise<void> {
  for (const name of names) session.enqueue(queue, { payload: body(name), ...more });
  await session.commit();
}

async function take(instance: Instance, queue: string, count: number, subscriber?: string): Promise<void> {
  const session = instance.openSession();
  for (let taken = 0; taken < count; ) {
    const max = Math.min(7, count - taken);
    const options = { max, waitMs: 10_000, ...(subscriber === undefined ? {} : { subscriber }) };
    taken += (await session.dequeue(queue, options)).length;
    await session.commit();
  }
  await session.close();
}

/** Dequeues the oldest messages and rolls back, which counts a delivery for each. */
async function deliverAndReturn(instance: Instance, queue: string, options: DequeueOptions): Promise<void> {
  const session = instance.openSession();
  await session.dequeue(queue, options);
  await session.rollback();
  await session.close();
}

const names = (prefix: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `${prefix}${from + index}`);

async function* streamed(name: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < streamBytes; at += 50_000) yield Buffer.alloc(50_000, `${name}.${at};`);
}

async function createQueues(instance: Instance): Promise<void> {
  await instance.createQueue({ name: 'q', shards: 2, forwarding: false });
  await instance.createQueue({ name: 'old', forwarding: false });
  await instance.createQueue({ name: 'retry', attemptsMax: 9, forwarding: false });
  await instance.createQueue({ name: 'urgent', priorities: true, correlationIndex: true, forwarding: false });
  await instance.createQueue({ name: 'later', forwarding: false });
  await instance.createQueue({ name: 'files', forwarding: false });
  await instance.createQueue({ name: 'moved' });
  await instance.createQueue({ name: 'news', type: 'topic' });
  await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
  await instance.createQueue({ name: 'tasks', kind: 'unsharded' });
  await instance.createQueue({ name: 'feed', kind: 'unsharded', type: 'topic', priorities: true });
  for (const topic of ['news', 'feed'])
    for (const name of ['ann', 'bob']) await instance.subscribe(topic, { name });
}

/** Both stages of the folder add this content, with messages numbered from `from` on. */
async function addContent(instance: LocalInstance, from: number): Promise<void> {
  const session = instance.openSession();
  for (let i = from; i < from + 30; i += 3) await put(session, 'q', names('q', i, i + 3));
  await take(instance, 'q', 12);
  for (let i = from; i < from + 4; i += 1) await put(session, 'retry', names('r', i, i + 1));
  await deliverAndReturn(instance, 'retry', { max: 2 });
  for (let priority = 0; priority < 4; priority += 1)
    await put(session, 'urgent', names(`p${priority}.`, from, from + 2), {
      priority,
      correlationId: `c${priority}`,
    });
  for (let i = from; i < from + 6; i += 1)
    await put(session, 'later', names('l', i, i + 1), { delayMs: dayMs + i });
  for (let i = from; i < from + 2; i += 1) {
    await session.enqueueStream('files', { payload: streamed(`f${i}`), correlationId: `f${i}` });
    await session.commit();
  }
  for (let i = from; i < from + 6; i += 1) await put(session, 'news', names('n', i, i + 1));
  await put(session, 'news', names('only', from, from + 2), { recipients: ['bob'] });
  await take(instance, 'news', 3, 'ann');
  for (let i = from; i < from + 12; i += 3)
    await put(session, 'feed', names('w', i, i + 3), { priority: i % 2 });
  await put(session, 'feed', names('w only', from, from + 2), { recipients: ['bob'] });
  await take(instance, 'feed', 5, 'ann');
  await deliverAndReturn(instance, 'feed', { max: 4, subscriber: 'bob' });
  for (let i = from; i < from + 32; i += 4) await put(session, 'jobs', names('j', i, i + 4));
  await take(instance, 'jobs', 10);
  await deliverAndReturn(instance, 'jobs', { max: 3 });
  await put(session, 'tasks', names('t', from, from + 5));
  const { entry } = instance
    .recoverOutcomes()
    .attach({ session: sessionId, attachment: from + 1, owner: { detach: async () => undefined } });
  for (const queue of ['q', 'jobs']) {
    session.enqueue(queue, { payload: body(`o${from}${queue}`) });
    await session.commit(undefined, { entry, transactionNumber: entry.transactionNumber + 1 });
  }
  session.enqueue('q', { payload: payloadOfKey(from) });
  await session.commit({ idempotencyKey: keyOf(from) });
  await session.close();
}

/** Evacuates three old messages by consuming all messages behind them. */
async function evacuateSome(instance: Instance): Promise<void> {
  const [holder, worker] = [instance.openSession(), instance.openSession()];
  await put(worker, 'old', names('e', 0, 3));
  await holder.dequeue('old', { max: 3 });
  for (let i = 0; i < 6; i += 1) {
    await put(worker, 'old', names('x', i * partitionMessagesMax, (i + 1) * partitionMessagesMax));
    await take(instance, 'old', partitionMessagesMax);
  }
  await holder.rollback();
  await holder.close();
  await worker.close();
}

/** Forwards messages in both directions between the instances. */
async function forwardSome(first: Instance, second: Instance): Promise<void> {
  const [one, two] = [first.openSession(), second.openSession()];
  await put(one, 'moved', names('a', 0, 6));
  await take(second, 'moved', 6);
  await put(two, 'moved', names('b', 0, 6));
  await take(first, 'moved', 6);
  await one.close();
  await two.close();
}

async function build(): Promise<void> {
  const first = (await openInstance({ dir, instance: 1, partitionMessagesMax })) as LocalInstance;
  await createQueues(first);
  const second = await openInstance({ dir, instance: 2, partitionMessagesMax });
  const served = [await serveInstance(first), await serveInstance(second)];
  await forwardSome(first, second);
  for (const server of served) await server.close();
  await second.close();
  await addContent(first, stages[0]);
  await evacuateSome(first);
  await first.close();
  cpSync(dir, `${dir}-older`, { recursive: true });
  const again = (await openInstance({ dir, instance: 1, partitionMessagesMax })) as LocalInstance;
  await addContent(again, stages[1]);
  await again.createQueue({ name: 'last', forwarding: false });
  if (end === 'closed') await again.close();
  process.stdout.write('ready\n');
  if (end === 'killed') setInterval(() => undefined, 60_000);
}

await build();
