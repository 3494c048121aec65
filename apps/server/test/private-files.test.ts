/** Files on the disk are readable by their owner only, and no answer names their folder. */
import { chmodSync, globSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorBody } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { ServerProcess } from './server-process.ts';
import { makeDataDir, startApp, type TestApp, waiting } from './start-app.ts';

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** The files in the folder that others than the owner may access, with their modes. */
function openToOthers(dir: string): string[] {
  return globSync('**', { cwd: dir }).flatMap((name) => {
    const mode = modeOf(join(dir, name));
    return mode.endsWith('00') ? [] : [`${name} ${mode}`];
  });
}

async function useEverything(url: string): Promise<void> {
  const call = async (method: string, path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    expect([path, answer.ok || answer.status === 409]).toEqual([path, true]);
  };
  for (const queue of [{ name: 's' }, { name: 'u', kind: 'unsharded' }]) {
    await call('POST', '/api/queues', queue);
    await call('POST', `/api/queues/${queue.name}/messages`, { messages: [{ payload: 1 }] });
  }
  await call('PUT', '/api/cluster/topology', { instances: 2 });
  await call('POST', '/api/queues/s/messages', { messages: [{ payload: 2 }] });
}

describe('the data folder', () => {
  it('is private with all that is in it, and becomes so if an earlier version left it open', async () => {
    const DATA_DIR = join(makeDataDir(), 'made', 'here');
    const first = new ServerProcess({ DATA_DIR });
    await useEverything(await first.ready());
    const names = globSync('**', { cwd: DATA_DIR });
    for (const name of ['lab.db', 'cluster/catalog.db', 'cluster/instance-2.db', 'cluster/leases'])
      expect(names).toContain(name);
    expect(modeOf(DATA_DIR)).toBe('700');
    expect(openToOthers(DATA_DIR)).toEqual([]);
    first.child.kill('SIGKILL'); // logs and sockets stay
    await first.ended;

    for (const name of names) {
      const path = join(DATA_DIR, name);
      if (statSync(path, { throwIfNoEntry: false })?.isFile()) chmodSync(path, 0o664);
    }
    chmodSync(join(DATA_DIR, 'cluster'), 0o775);
    await expect
      .poll(async () => {
        const again = new ServerProcess({ DATA_DIR });
        try {
          await useEverything(await again.ready());
          return true;
        } catch {
          return again.stderr; // it is tried again, since processes of the first server are still ending
        }
      }, waiting)
      .toBe(true);
    expect(openToOthers(DATA_DIR)).toEqual([]);
  });
});

/** Receipts that are wrong. None names a missing instance, since a cluster waits seconds for such an instance. */
const receipts = ['1/100.1.1.1', '1.1.1', '../../etc/passwd', '0/0'];

async function provoke({ app, post, postText, get, put }: TestApp): Promise<string[]> {
  const answers: { body: unknown }[] = [];
  for (const receipt of receipts) {
    for (const queue of ['q', 'u', 'none']) {
      const url = `/api/queues/${queue}`;
      answers.push(await post(`${url}/ack`, { receipts: [receipt] }));
      answers.push(await post(`${url}/nack`, { receipts: [receipt] }));
      answers.push(await post(`${url}/extend`, { receipts: [receipt], holdMs: 1_000 }));
      answers.push(await get(`${url}/payload?receipt=${encodeURIComponent(receipt)}`));
      answers.push(await post('/api/transactions', { acknowledge: [{ queue, receipts: [receipt] }] }));
    }
  }
  for (const sql of [
    'SELECT * FROM none',
    'ATTACH DATABASE "/tmp/x" AS x',
    'SELECT * FROM sqlite_schema',
    'PRAGMA database_list',
    "VACUUM INTO '/tmp/x'",
  ]) {
    answers.push(await post('/api/transactions', { execute: [{ sql }] }));
  }
  for (const url of [
    '/api/queues/u/conversion',
    '/api/queues/q/conversion',
    '/api/cluster/instances/9/start',
  ]) {
    answers.push(await postText(url, '{}'));
  }
  answers.push(await put('/api/cluster/topology', { instances: 0 }));
  for (const url of [
    '/api/queues',
    '/api/cluster',
    '/api/health',
    '/metrics',
    '/nothing.js',
    '/api/cluster/load',
    '/..%2f..%2flab.db',
    '/%00',
  ]) {
    answers.push(await get(url));
  }
  const bad = await app.inject({ method: 'GET', url: '/api/queues/%E0', headers: { host: 'localhost' } });
  return [...answers.map(({ body }) => JSON.stringify(body)), bad.body];
}

describe('an answer', () => {
  it('never names the data folder, even in an error', async () => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    await test.post('/api/queues', { name: 'u', kind: 'unsharded' });
    const inside = await provoke(test);
    expect((await test.put('/api/cluster/topology', { instances: 2 })).status).toBe(200);
    const outside = await provoke(test);
    const unreachable = await test.post<ErrorBody>('/api/queues/q/ack', { receipts: ['9/100.1.1.1'] });
    expect(unreachable.status).toBeGreaterThanOrEqual(400);
    for (const text of [...inside, ...outside, JSON.stringify(unreachable.body)]) {
      expect(text).not.toContain(test.dataDir);
      expect(text).not.toContain('/cluster/instance-');
    }
  });

  it('names a damaged file without its folder', async () => {
    const dataDir = makeDataDir();
    const first = await startApp({ dataDir });
    await first.post('/api/queues', { name: 'u', kind: 'unsharded' });
    await first.post('/api/queues/u/messages', { messages: [{ payload: 1 }] });
    await first.close();
    const [path] = globSync(join(dataDir, 'cluster/unsharded*.db'));
    writeFileSync(path!, Buffer.alloc(64 * 1024, 7));
    const test = await startApp({ dataDir }).catch((error: ErrorBody) => error);
    if (!('app' in test)) return expect(test.code).toMatch(/^STORAGE_/);
    const { status, body } = await test.post<ErrorBody>('/api/queues/u/messages', {
      messages: [{ payload: 2 }],
    });
    expect(status).toBeGreaterThanOrEqual(500);
    const list = await test.get('/api/queues');
    for (const text of [JSON.stringify(body), JSON.stringify(list.body)]) expect(text).not.toContain(dataDir);
  });
});
