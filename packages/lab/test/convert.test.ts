/** `convert` on the command line: its steps in words, its exit codes, and how it is resumed after an interrupt. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Conversion, openInstance } from '@shardlab/engine';
import { expect, it, onTestFinished } from 'vitest';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

function start(...args: string[]) {
  const child = spawn(process.execPath, [cli, 'convert', ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const all = { said: '' };
  const reached = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      all.said += text;
      if (all.said.includes('drain:')) reached.resolve();
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ code, said: all.said }));
  return { ended, draining: reached.promise, interrupt: () => child.kill('SIGINT') };
}

async function makeFolder(...messages: string[]): Promise<string> {
  const parent = mkdtempSync(join(tmpdir(), 'shardlab-convert-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const instance = await openInstance({ dir: join(parent, 'cluster') });
  await instance.createQueue({ name: 'orders', kind: 'unsharded' });
  const session = instance.openSession();
  for (const payload of messages) session.enqueue('orders', { payload });
  await session.commit();
  await instance.close();
  return parent;
}

it('converts a queue of a data folder, prints each step and writes the conversion', async () => {
  const parent = await makeFolder();
  const json = join(parent, 'conversion.json');
  const { code, said } = await start(parent, 'orders', '--shards', '2', '--json', json).ended;
  expect([code, said.split('\n')]).toEqual([
    0,
    [
      'stop enqueue',
      'drain: wait until consumers have emptied the queue',
      'stop dequeue',
      'check that the queue is empty',
      'drop the unsharded queue',
      'size the message cache',
      'create the sharded queue with the same name',
      'start enqueue and dequeue',
      'orders is now sharded, with 2 shards per instance',
      '',
    ],
  ]);
  const written = JSON.parse(readFileSync(json, 'utf8')) as Conversion;
  expect(written).toMatchObject({ queue: 'orders', stage: 'done', settings: { shards: 2 } });
  const again = await start(join(parent, 'cluster'), 'orders').ended;
  expect(again).toEqual({ code: 0, said: 'orders is now sharded, with 2 shards per instance\n' });
});

it('is interrupted at the drain, resumed, and cancelled', async () => {
  const parent = await makeFolder('a');
  const first = start(parent, 'orders');
  await first.draining;
  first.interrupt();
  expect(await first.ended).toMatchObject({
    code: 130,
    said: expect.stringContaining('repeat the command to resume'),
  });
  expect(await start(parent, 'orders', '--drain-s', '0').ended).toMatchObject({
    code: 1,
    said: expect.stringContaining('QUEUE_NOT_DRAINED: orders is not empty: 1 waiting, 0 held'),
  });
  expect((await start(parent, 'orders', '--cancel').ended).code).toBe(0);
  const instance = await openInstance({ dir: join(parent, 'cluster') });
  expect(instance.queue('orders')).toMatchObject({ kind: 'unsharded', ready: 1, enqueueEnabled: true });
  await instance.close();
});

it.each([
  [['nowhere', 'orders'], 1, 'QUEUE_NOT_FOUND'],
  [['only-a-folder'], 2, 'convert needs a folder and a queue'],
  [['a', 'b', 'c'], 2, 'Unexpected argument "c"'],
])('refuses %j', async (args, code, sentence) => {
  expect(await start(...args).ended).toMatchObject({ code, said: expect.stringContaining(sentence) });
});
