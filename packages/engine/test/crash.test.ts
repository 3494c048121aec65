/** A process is killed by SIGKILL at random moments, again and again on the same files, recovery included. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openInstance, type QueueKind } from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { random } from './random.ts';

interface Log {
  tried: Set<string>;
  enqueued: Set<string>;
  consumptionTried: Set<string>;
  consumed: string[];
}

function readLog(path: string): Log {
  const log: Log = { tried: new Set(), enqueued: new Set(), consumptionTried: new Set(), consumed: [] };
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  for (const line of lines) {
    const id = line.slice(2);
    if (line[0] === 'e') log.tried.add(id);
    else if (line[0] === 'E') log.enqueued.add(id);
    else if (line[0] === 'd') log.consumptionTried.add(id);
    else if (line[0] === 'D') log.consumed.push(id);
  }
  return log;
}

async function runAndKill(args: string[], afterMs: number, untilWorking: boolean): Promise<void> {
  const child = fork(new URL('./crash-worker.ts', import.meta.url), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  if (untilWorking) await Promise.race([once(child, 'message'), ended]);
  expect(child.exitCode).toBeNull();
  const killer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  const [, signal] = (await ended) as [number | null, string | null];
  clearTimeout(killer);
  expect(signal).toBe('SIGKILL');
}

/** What the queue holds, in the order it hands it out; nothing is consumed. */
async function readQueue(dir: string): Promise<string[]> {
  const instance = await openInstance({ dir, partitionMessagesMax: 64 });
  if (instance.queues().length === 0) {
    await instance.close();
    return [];
  }
  const { ready } = instance.queue('q');
  const session = instance.openSession();
  const found: string[] = [];
  while (found.length < ready) {
    const messages = await session.dequeue('q', { max: 1_000, waitMs: 10_000 });
    if (messages.length === 0) break;
    found.push(...messages.map((message) => message.payload.toString()));
  }
  expect(found).toHaveLength(ready);
  await instance.close(); // rolls back
  return found;
}

function check(log: Log, found: string[]): void {
  const live = new Set(found);
  const consumed = new Set(log.consumed);
  expect(live.size, 'delivered twice').toBe(found.length);
  expect(consumed.size, 'consumed twice').toBe(log.consumed.length);
  expect(
    found.filter((id) => !log.tried.has(id)),
    'never enqueued',
  ).toEqual([]);
  expect(
    found.filter((id) => consumed.has(id)),
    'back after a committed dequeue',
  ).toEqual([]);
  const lost = [...log.enqueued].filter((id) => !live.has(id) && !log.consumptionTried.has(id));
  expect(lost, 'lost').toEqual([]);
  // Of each enqueuer the queue holds what came last, in order.
  for (const enqueuer of ['0', '1', '2']) {
    const own = found.filter((id) => id.startsWith(`${enqueuer}.`)).map((id) => Number(id.slice(2)));
    expect(own, 'out of order').toEqual([...own].sort((a, b) => a - b));
  }
  // A transaction is whole or absent: seven messages in a row, less what was consumed of them.
  const transactions = Map.groupBy(log.tried, (id) => {
    const [enqueuer, no] = id.split('.');
    return `${enqueuer}.${Math.floor(Number(no) / 7)}`;
  });
  for (const ids of transactions.values()) {
    const present = ids.filter((id) => live.has(id) || log.consumptionTried.has(id)).length;
    expect([0, ids.length], 'torn transaction').toContain(present);
  }
}

describe.each<{ kind: QueueKind; kills: number }>([
  { kind: 'sharded', kills: 32 },
  { kind: 'unsharded', kills: 8 },
])('a process killed while it works on a $kind queue', ({ kind, kills }) => {
  it(`loses nothing acknowledged and doubles nothing, ${kills} times on the same files`, {
    timeout: 240_000,
  }, async () => {
    const seed = Date.now() % 2 ** 31;
    console.info(`crash test, ${kind}: seed ${seed}`);
    const next = random(seed);
    const dir = makeFolder();
    const log = join(dir, 'acknowledged.log');
    let atWork = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const args = [join(dir, 'data'), log, kind, String(kill * 7_000_000)];
      // One in four is killed at some moment of its start, recovery included; the others while they work.
      const early = next() < 0.25;
      if (!early) atWork += 1;
      await runAndKill(args, early ? 40 + next() * 160 : 5 + next() * 300, !early);
      check(readLog(log), await readQueue(join(dir, 'data')));
    }
    const all = readLog(log);
    expect(all.enqueued.size).toBeGreaterThanOrEqual(atWork);
    expect(all.consumed.length).toBeGreaterThanOrEqual(atWork);
  });
});
