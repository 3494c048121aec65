/**
 * A process that the crash test kills. It works on a queue as fast as it can and writes down what it tries and what was
 * acknowledged: a line is written by one system call, so what the line says happened before the kill.
 *
 *     e 3.17   is about to commit message 17 of enqueuer 3      E 3.17   that commit was acknowledged
 *     d 3.17   is about to commit its consumption               D 3.17   acknowledged
 */
import { openSync, writeSync } from 'node:fs';
import { type Message, openInstance, type QueueKind } from '../src/index.ts';

const [dir, log, kind, firstText] = process.argv.slice(2) as [string, string, QueueKind, string];
const out = openSync(log, 'a');
const note = (mark: string, ids: readonly string[]) =>
  writeSync(out, ids.map((id) => `${mark} ${id}\n`).join(''));

const instance = await openInstance({ dir, partitionMessagesMax: 64 });
if (instance.queues().length === 0)
  await instance.createQueue({ name: 'q', kind, shards: 2, durability: 'durable' });

/** The parent is told once the first consumption is acknowledged: from there on a kill hits a process at work. */
let reported = false;

const enqueuers = 3;
const dequeuers = 3;
const operations = 7;
const backlogMax = 500;

async function enqueueForever(enqueuer: number): Promise<void> {
  const session = instance.openSession();
  for (let next = Number(firstText); ; ) {
    while (instance.queue('q').ready > backlogMax) await new Promise((resume) => setImmediate(resume));
    const ids = Array.from({ length: operations }, (_, index) => `${enqueuer}.${next + index}`);
    for (const id of ids) session.enqueue('q', { payload: id });
    next += operations;
    note('e', ids);
    await session.commit();
    note('E', ids);
  }
}

async function dequeueForever(dequeuer: number): Promise<void> {
  const session = instance.openSession();
  for (let turn = dequeuer; ; turn += 1) {
    const messages: Message[] = await session.dequeue('q', { max: operations, waitMs: 60_000 });
    if (turn % 5 === 0) {
      await session.rollback();
      continue;
    }
    const ids = messages.map((message) => message.payload.toString());
    note('d', ids);
    await session.commit();
    note('D', ids);
    if (!reported) process.send?.('working');
    reported = true;
  }
}

for (let i = 0; i < enqueuers; i += 1) void enqueueForever(i);
for (let i = 0; i < dequeuers; i += 1) void dequeueForever(i);
