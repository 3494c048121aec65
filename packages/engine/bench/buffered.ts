/**
 * Compares a buffered queue with queues that commit: one session in this process, 512 bytes, one message a call, all enqueued and
 * then all dequeued. Prints the best and the median rate of five rounds, and the CPU time of a message, which other work on the
 * machine disturbs least.
 *
 *     node packages/engine/bench/buffered.ts [--messages 20000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openInstance, type QueueSpec, type Session } from '../src/index.ts';

const { values } = parseArgs({ options: { messages: { type: 'string', default: '20000' } } });
const messages = Number(values.messages);
const rounds = 5;
const payload = 'x'.repeat(512);

interface Calls {
  enqueue(session: Session): Promise<unknown>;
  dequeue(session: Session): Promise<unknown>;
}

const now: Calls = {
  enqueue: (session) => session.enqueueNow('q', { payload }),
  dequeue: (session) => session.dequeueNow('q'),
};
const withCommit: Calls = {
  enqueue: (session) => {
    session.enqueue('q', { payload });
    return session.commit();
  },
  dequeue: async (session) => {
    await session.dequeue('q');
    await session.commit();
  },
};

const buffered = { durability: 'memory', visibility: 'immediate', messagesMax: 1_000_000 } as const;
const cases: { name: string; spec: Omit<QueueSpec, 'name'>; calls: Calls; messages: number }[] = [
  { name: 'buffered', spec: buffered, calls: now, messages },
  { name: 'memory, commit', spec: { durability: 'memory' }, calls: withCommit, messages: messages / 4 },
  { name: 'relaxed', spec: { durability: 'relaxed' }, calls: withCommit, messages: messages / 20 },
  { name: 'durable', spec: { durability: 'durable' }, calls: withCommit, messages: messages / 40 },
];

async function perSec(count: number, call: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  for (let i = 0; i < count; i += 1) await call();
  return (count * 1000) / (performance.now() - startedAtMs);
}

const summary = (rates: number[]) => {
  const sorted = rates.map(Math.round).sort((a, b) => a - b);
  return `best ${sorted.at(-1)}, median ${sorted[sorted.length >> 1]}`;
};

const dir = mkdtempSync(join(process.cwd(), '.bench-buffered-'));
try {
  for (const { name, spec, calls, messages: count } of cases) {
    const instance = await openInstance({ dir: join(dir, name) });
    await instance.createQueue({ name: 'q', ...spec });
    const session = instance.openSession();
    const enqueue: number[] = [];
    const dequeue: number[] = [];
    const cpu = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) {
      enqueue.push(await perSec(count, () => calls.enqueue(session)));
      dequeue.push(await perSec(count, () => calls.dequeue(session)));
    }
    const { user, system } = process.cpuUsage(cpu);
    const cpuUs = ((user + system) / (rounds * count)).toFixed(1);
    console.log(
      `${name}: enqueue/s ${summary(enqueue)}; dequeue/s ${summary(dequeue)}; CPU ${cpuUs} us a message`,
    );
    await instance.close();
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
