/** `move` on the command line: to servers and back, killed in between, and what it refuses. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openInstance, startCluster } from '@shardlab/engine';
import { expect, it, onTestFinished } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import { describeOnServers } from '../../jetstream/test/servers.ts';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

/** Runs the command. It is killed when its output contains `killAt`. */
async function move(
  args: readonly string[],
  killAt?: string,
): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [cli, 'move', ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (words: string) => {
      said += words;
      if (killAt !== undefined && said.includes(killAt)) child.kill('SIGKILL');
    });
  }
  const [code] = await once(child, 'close');
  return { code: code as number | null, said };
}

function makeFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'shardlab-move-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return parent;
}

const payloads = Array.from({ length: 700 }, (_, count) => String(count));

async function fill(dir: string): Promise<void> {
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'orders', durability: 'relaxed' });
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload });
  await session.commit();
  await instance.close();
}

describeOnServers('the command that moves a queue', { servers: 1 }, (servers) => {
  it('goes to the servers and back, killed in between, with every message once and in order', {
    timeout: 120_000,
  }, async () => {
    const parent = makeFolder();
    await fill(join(parent, 'cluster'));
    const address = servers.cluster.urls.join();
    const there = [parent, 'orders', address];
    expect((await move(there, 'copy the messages')).code).toBe(null);
    expect(await move(there)).toEqual({
      code: 0,
      said: [
        'stop enqueue and dequeue',
        'drain: wait until no session holds a message',
        'create the queue at its new place, still stopped for dequeue',
        'copy the messages',
        'check that all of them arrived',
        'switch: from here on the new queue is used',
        'drop the old queue',
        'done',
        'orders is now on the servers',
        '',
      ].join('\n'),
    });
    const store = await servers.open();
    expect(text((await store.browse('orders', { limit: 1_000 })).messages)).toEqual(payloads);
    const back = [address, 'orders', parent];
    expect((await move(back, 'switch:')).code).toBe(null);
    expect((await move(back)).said).toContain('orders is now in the folder');
    expect(await store.queues()).toEqual([]);
    await store.close();
    const instance = await openInstance({ dir: join(parent, 'cluster') });
    expect(text(await instance.openSession().dequeue('orders', { max: 1_000 }))).toEqual(payloads);
    // An instance in another process uses the folder now.
    expect(await move(there)).toMatchObject({ code: 1, said: expect.stringContaining('INSTANCE_IN_USE') });
    await instance.close();
  });

  it('moves the queue of a cluster that is being served', async () => {
    const dir = makeFolder();
    await fill(dir);
    const cluster = await startCluster({ dir, instances: 2 });
    onTestFinished(() => cluster.close());
    expect(await move([dir, 'orders', servers.cluster.urls.join()])).toMatchObject({ code: 0 });
    const store = await servers.open();
    expect(text((await store.browse('orders', { limit: 1_000 })).messages)).toEqual(payloads);
    await store.dropQueue('orders');
    await store.close();
  });

  it('says what is wrong with its arguments, the folder or the queue', async () => {
    const dir = makeFolder();
    const address = servers.cluster.urls.join();
    expect(await move([dir, 'orders'])).toMatchObject({ code: 2 });
    expect(await move([dir, 'orders', dir])).toMatchObject({ code: 2 });
    expect((await move([dir, 'orders', address])).said).toContain('There are no queues in the folder');
    expect((await move([address, 'orders', dir])).said).toContain('QUEUE_NOT_FOUND');
    expect((await move([dir, 'orders', `${address}?replica=3`])).said).toContain('has no option replica');
  });
});
