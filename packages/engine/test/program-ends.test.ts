/** A program that has closed what it opened ends by itself: nothing of the engine keeps its process alive. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeFolder } from './folder.ts';

const engine = fileURLToPath(new URL('../src/index.ts', import.meta.url));
/** Only something that keeps the process alive takes as long. */
const endMsMax = 60_000;

/** What a program opens and closes, by the package's functions as `e` and a folder of its own as `dir`. */
const programs: Record<string, string> = {
  'a queue': `
    const queue = await e.openQueue({ dir, name: 'orders' });
    await queue.enqueue({ payload: 'x' });
    const consumed = queue.consume(() => {}, { concurrency: 2 });
    await queue.close();
    await consumed;`,
  'an instance with sessions, a coordinator and services': `
    const services = [{ name: 'tick', module: 'timer', options: { schedule: '* * * * *', queue: 'orders' } }];
    const instance = await e.openInstance({ dir, services });
    await instance.createQueue({ name: 'orders' });
    await instance.createQueue({ name: 'shared', kind: 'unsharded' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'x' });
    session.execute('CREATE TABLE t (x)');
    await session.commit();
    await session.query('SELECT x FROM t');
    await session.rollback();
    session.enqueue('shared', { payload: 'x' });
    await session.commit();
    await instance.coordinator({ one: instance.xa }).resolve();
    const waiting = instance.openSession().dequeue('orders', { max: 1, waitMs: 600_000 }).catch(() => {});
    const waiter = instance.openSession().dequeue('orders', { waitMs: 600_000 }).catch(() => {});
    await instance.close();
    await Promise.all([waiting, waiter]);`,
  'an instance that it serves, with clients that stay': `
    const instance = await e.openInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    await e.serveInstance(instance);
    await e.serveInstance(instance, { path: dir + '/second.sock' });
    const client = await e.connect({ dir });
    const waiting = client.openSession().dequeue('orders', { waitMs: 600_000 }).catch(() => {});
    const all = e.connectCluster({ dir });
    await instance.close();
    await waiting;
    await client.close();
    await all.close();`,
  'a client with a consumer, a producer and a wait': `
    const instance = await e.openInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    await instance.createQueue({ name: 'ticks', durability: 'memory', visibility: 'immediate' });
    const served = await e.serveInstance(instance);
    const client = await e.connect({ dir });
    const session = client.openSession();
    await session.openConsumer('orders', { listener() {} });
    await session.openProducer('ticks').send({ payload: 'x' });
    const received = (await client.openSession().openConsumer('orders')).receive().catch(() => {});
    await client.close();
    await received;
    await served.close();
    await served.close();
    await instance.close();
    await instance.close();`,
  'a topic that it shares with threads': `
    const instance = await e.openInstance({ dir });
    await instance.createQueue({ name: 'news', type: 'topic' });
    const shared = await e.shareQueue(instance, { queue: 'news' });
    await shared.subscribe({ name: 'one' });
    const session = await e.openThreadSession(shared.handle);
    await session.close();
    await instance.close();`,
  'a cluster': `
    const cluster = await e.startCluster({ dir, instances: 1 });
    const client = e.connectCluster({ dir });
    await client.createQueue({ name: 'orders' });
    const session = client.openSession();
    session.enqueue('orders', { payload: 'x' });
    await session.commit();
    await client.close();
    await cluster.close();`,
  'an instance that could not be opened': `
    const instance = await e.openInstance({ dir });
    await e.openInstance({ dir }).catch(() => {});
    await e.startCluster({ dir }).catch(() => {});
    await e.connect({ dir, connectMs: 50 }).catch(() => {});
    await e.openQueue({ dir: '/proc/none', name: 'a' }).catch(() => {});
    await instance.close();`,
};

it.each(Object.entries(programs))('that opened %s', { timeout: 2 * endMsMax }, async (_what, lines) => {
  const dir = makeFolder();
  const program = join(dir, 'program.mjs');
  const text = `const e = await import(${JSON.stringify(engine)}); const dir = ${JSON.stringify(join(dir, 'data'))}; ${lines}
    console.log('closed', process.getActiveResourcesInfo().join());`;
  writeFileSync(program, text);
  const ended = await new Promise((resolve) => {
    execFile(process.execPath, [program], { timeout: endMsMax, killSignal: 'SIGKILL' }, (error, out, err) =>
      resolve({ error: error && `${error.message} ${error.signal ?? ''}`, out, err }),
    );
  });
  expect(ended).toEqual({ error: null, out: expect.stringContaining('closed'), err: '' });
});
