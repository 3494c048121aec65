/**
 * Conversions are killed right before one of their writes, syncs or truncations, within any step or between two, while other
 * processes enqueue and dequeue. Another conversion continues, and every message is delivered once.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { type ConversionStage, openInstance, readConversion } from '../../src/index.ts';
import { killAt, noFailingDisk } from '../faults/failing-disk.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, isTorture } from '../random.ts';

/** One write in so many is tried, so that a test takes seconds. The seed chooses the first one. */
const stride = isTorture ? 5 : 17;

/** Runs a script in a process; resolves with whether it was killed. */
async function run(script: string, args: string[], env: Record<string, string> = {}): Promise<boolean> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code, signal] = await once(child, 'exit');
  expect([null, 0]).toContain(code);
  return signal === 'SIGKILL';
}

async function startWorker(dir: string, instance: number): Promise<(order: object) => Promise<unknown>> {
  const worker: ChildProcess = fork(new URL('./load-worker.ts', import.meta.url), [dir, String(instance)]);
  onTestFinished(() => void worker.kill('SIGKILL'));
  const answer = async () => (await once(worker, 'message'))[0];
  await answer();
  return (order) => {
    const answered = answer();
    worker.send(order);
    return answered;
  };
}

async function createQueue(dir: string, instance: number, name: string): Promise<void> {
  const opened = await openInstance({ dir, instance });
  await opened.createQueue({ name, kind: 'unsharded' });
  await opened.close();
}

it.skipIf(noFailingDisk)(
  `a conversion that is killed at any of its writes is resumed, and two processes under load lose and duplicate nothing`,
  { timeout: 300_000 },
  async () => {
    const dir = makeFolder();
    const first = 1 + (drawnSeed % stride);
    console.info(`conversion killed at a write: from call ${first} on`);
    await createQueue(dir, 3, 'warm-up');
    const workers = await Promise.all([startWorker(dir, 1), startWorker(dir, 2)]);
    const all = (order: object) => Promise.all(workers.map((worker) => worker(order)));
    const killedIn = new Set<ConversionStage | undefined>();
    for (let call = first; ; call += stride) {
      const queue = `q${call}`;
      await createQueue(dir, 3, queue);
      await all({ do: 'load', queue });
      const killed = await run('./convert-process.ts', [dir, queue], killAt(`${dir}/`, call));
      if (killed) {
        killedIn.add((await readConversion({ dir, queue }))?.stage);
        expect(await run('./convert-process.ts', [dir, queue])).toBe(false);
      }
      expect((await readConversion({ dir, queue }))?.stage).toBe('done');
      await all({ do: 'end producers' });
      const records = (await all({ do: 'end' })) as { put: string[]; took: string[] }[];
      const put = records.flatMap((record) => record.put);
      expect(put.length).toBeGreaterThan(0);
      expect(records.flatMap((record) => record.took).toSorted()).toEqual(put.toSorted());
      if (!killed) break;
    }
    await all({ do: 'close' });
    expect(killedIn.size).toBeGreaterThan(4);
  },
);

it.skipIf(noFailingDisk)(
  'a process that hosts the instance, its load and the conversion loses and duplicates nothing if killed at a write of the catalog',
  { timeout: 300_000 },
  async () => {
    let kills = 0;
    for (let call = 1 + (drawnSeed % stride); ; call += stride) {
      const dir = makeFolder();
      const notes = join(dir, 'notes');
      await createQueue(dir, 1, 'q');
      const killed = await run('./whole-process.ts', [dir, 'q', 'first', notes], killAt('/catalog.db', call));
      if (!killed) break;
      kills += 1;
      expect(await run('./whole-process.ts', [dir, 'q', 'second', notes])).toBe(false);
      expect((await readConversion({ dir, queue: 'q' }))?.stage).toBe('done');
      expectConsumedOnce(existsSync(notes) ? readFileSync(notes, 'utf8') : '');
    }
    expect(kills).toBeGreaterThan(3);
  },
);

/** Each acknowledged message was consumed once, or was lost to a consumer that was committing when the process died. */
function expectConsumedOnce(notes: string): void {
  const lines = notes.split('\n').map((line) => line.split(' '));
  const of = (what: string) => lines.flatMap(([kind, payload]) => (kind === what ? [payload!] : []));
  const took = of('took');
  expect(took.length).toBe(new Set(took).size);
  const reached = new Set([...took, ...of('taking')]);
  expect(of('put').filter((payload) => !reached.has(payload))).toEqual([]);
  // Other consumed messages were being enqueued by one of the two producers when the process died.
  const put = new Set(of('put'));
  expect(took.filter((payload) => !put.has(payload)).length).toBeLessThanOrEqual(2);
}
