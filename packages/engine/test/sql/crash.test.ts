/** A process that writes a row for each message is killed at any moment: row and message are stored together or not at all. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { readProcessStart } from '../../src/node-processes.ts';
import { encodeFrame } from '../../src/storage/threads/process-frames.ts';
import type { WriterProcessRequest } from '../../src/storage/threads/process-messages.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { rowsOf } from './application.ts';

const worker = fileURLToPath(new URL('./transfer-worker.ts', import.meta.url));
const slow = fileURLToPath(new URL('./slow-worker.ts', import.meta.url));
const writer = fileURLToPath(new URL('../../src/storage/threads/writer-process.ts', import.meta.url));
const holder = fileURLToPath(new URL('./reserving-worker.ts', import.meta.url));

it('all acknowledged transactions are stored after each kill, and rows and messages agree', {
  timeout: 120_000,
}, async () => {
  const dir = makeFolder();
  const next = random(drawnSeed);
  let acknowledged = 0;
  for (let round = 0; round < 6; round += 1) {
    const child = fork(worker, [dir], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(child, 'exit');
    const killAt = acknowledged + 1 + Math.floor(next() * 60);
    child.on('message', (done: number) => {
      acknowledged = Math.max(acknowledged, done);
      if (done >= killAt) child.kill('SIGKILL');
    });
    expect((await ended)[1]).toBe('SIGKILL');

    const instance = await openTestInstance({ dir });
    const made = await rowsOf(instance, 'SELECT item FROM made ORDER BY item');
    const moved = await rowsOf(instance, 'SELECT item FROM moved ORDER BY item');
    const waiting = (await instance.browse('todo', { limit: 1_000 })).messages.map(({ payload }) =>
      Number(payload),
    );
    // A row of `made` was inserted when its message was enqueued, and one of `moved` when it was consumed.
    const numbers = [...moved.map(({ item }) => Number(item)), ...waiting].sort((a, b) => a - b);
    expect(numbers).toEqual(made.map(({ item }) => item));
    expect(moved.length).toBeGreaterThanOrEqual(acknowledged);
    expect(moved.length).toBe(instance.queue('done').enqueued);
    acknowledged = moved.length;
    await instance.close();
  }
});

it('a process killed while it has reserved the writer leaves nothing of the transaction', {
  timeout: 60_000,
}, async () => {
  const dir = makeFolder();
  const child = fork(holder, [dir], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  expect(await once(child, 'message')).toEqual([[{ item: 1 }], undefined]); // The transaction sees its own row.
  child.kill('SIGKILL');
  expect((await ended)[1]).toBe('SIGKILL');

  const instance = await openTestInstance({ dir });
  expect(await rowsOf(instance, 'SELECT item FROM moved')).toEqual([]);
  expect(instance.queue('todo')).toMatchObject({ ready: 1, held: 0, consumed: 0 });
  expect(instance.queue('done')).toMatchObject({ ready: 0, enqueued: 0 });
});

it.skipIf(process.platform !== 'linux')(
  'a statement ends when its instance is killed, and the folder can be opened at once',
  { timeout: 60_000 },
  async () => {
    const dir = makeFolder();
    const child = fork(slow, [dir], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(child, 'exit');
    const [[pid]] = (await once(child, 'message')) as [number[]];
    expect(readProcessStart(pid!)).toBeDefined();
    child.kill('SIGKILL');
    await ended;
    const instance = await openTestInstance({ dir });
    expect(await rowsOf(instance, 'SELECT id FROM item')).toEqual([]);
    await vi.waitFor(() => expect(readProcessStart(pid!)).toBeUndefined(), 10_000);
  },
);

it('a writer process whose answers nobody can read ends without error output', {
  timeout: 60_000,
}, async () => {
  const child = spawn(process.execPath, [writer], { stdio: 'pipe' });
  const ended = once(child, 'exit');
  const complaints = text(child.stderr);
  child.stdout.destroy(); // The end of the parent process would close the pipe like this.
  const open: WriterProcessRequest = {
    kind: 'open',
    path: join(makeFolder(), 'missing', 'instance-1.db'),
    emulatedSync: { times: [0], device: undefined },
    logBytesMax: 1,
    parentPid: process.pid,
    epoch: 1,
  };
  child.stdin.write(encodeFrame(open));
  expect(await complaints).toBe('');
  expect(await ended).toEqual([0, null]);
});
