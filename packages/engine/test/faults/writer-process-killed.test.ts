/**
 * The writer process is killed at its writes, and at any moment under load. Groups that it committed are not committed again, and the
 * others are committed by the next process. A statement fails only if it ends the next process too.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Instance } from '../../src/index.ts';
import type { ChildProcess, InstancePorts } from '../../src/model/ports.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { readProcessStart } from '../../src/node-processes.ts';
import { assembleInstance } from '../../src/runtime/assemble-instance.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { rowsOf, run } from '../sql/application.ts';
import { killAt, noFailingDisk } from './failing-disk.ts';

const partitionMessagesMax = 4;
/** One write in so many is tried, so that the test takes seconds. The seed chooses the first one. */
const stride = isTorture ? 13 : 41;

interface Watched {
  /** The environment of the writer process with the given number, from 0. */
  envOf?(start: number): Record<string, string>;
  onStarted?(child: ChildProcess): void;
}

/** Opens an instance whose writer processes the test can observe. */
async function openWatched(dir: string, { envOf = () => ({}), onStarted }: Watched = {}) {
  const started: ChildProcess[] = [];
  const start: InstancePorts['processes']['start'] = (module, events) => {
    const env = envOf(started.length);
    Object.assign(process.env, env);
    const child = nodePorts.processes.start(module, events);
    for (const name of Object.keys(env)) delete process.env[name];
    started.push(child);
    onStarted?.(child);
    return child;
  };
  const ports = { ...nodePorts, processes: { ...nodePorts.processes, start } };
  // On a busy machine a process that was killed may be replaced later than the usual limit of a reservation.
  const options = { dir, partitionMessagesMax, writerReservationMsMax: 10_000 };
  const instance = await assembleInstance(1, options, { onClosed: () => undefined }, ports);
  onTestFinished(() => instance.close());
  return { instance: instance as Instance, started };
}

/** Expects each transaction whose commit was acknowledged in the file once, with its row, and no other. */
async function compare(dir: string, committed: readonly string[]): Promise<void> {
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  const consumer = instance.openSession();
  const found: string[] = [];
  while (instance.queue('q').ready > 0) found.push(...text(await consumer.dequeue('q', { max: 99 })));
  expect(found.sort()).toEqual([...committed].sort());
  expect(instance.queue('q')).toMatchObject({ enqueued: committed.length });
  const rows = await rowsOf(instance, 'SELECT payload FROM item ORDER BY payload');
  expect(rows.map(({ payload }) => payload)).toEqual(committed.filter((each) => each.endsWith('row')).sort());
  await instance.close();
}

it.skipIf(noFailingDisk)(
  `all groups of a writer process that is killed at a write commit once (${noFailingDisk ?? `one write in ${stride} is tried`})`,
  { timeout: 300_000 },
  async () => {
    const first = 1 + (drawnSeed % stride);
    console.info(`writer process killed at a write: from call ${first} on`);
    let kills = 0;
    for (let call = first; ; call += stride) {
      const dir = makeFolder();
      const { instance, started } = await openWatched(dir, {
        envOf: (start) => (start === 0 ? killAt('/instance-1.', call) : {}),
      });
      await instance.createQueue({ name: 'q' });
      const sessions = Array.from({ length: 10 }, () => instance.openSession());
      await run(sessions[0]!, 'CREATE TABLE item (payload TEXT PRIMARY KEY)');
      const committed: string[] = [];
      for (let round = 0; round < 2; round += 1) {
        for (const [index, session] of sessions.entries()) {
          const payload = `${round}.${index}.${index % 2 === 0 ? 'row' : 'message'}`;
          session.enqueue('q', { payload });
          if (index % 2 === 0) session.execute('INSERT INTO item VALUES (?)', [payload]);
          committed.push(payload);
        }
        await Promise.all(sessions.map((session) => session.commit()));
        for (const more of ['more', 'last']) {
          const payload = `${round}.${more}.message`; // in the log, which the process applies
          sessions[0]!.enqueue('q', { payload });
          await sessions[0]!.commit();
          committed.push(payload);
          await instance.checkpoint();
        }
      }
      const killed = started.length > 1;
      await instance.close();
      await compare(dir, committed);
      if (!killed) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThan(1);
  },
);

it('all transactions commit once if writer processes are killed at any moment under load', {
  timeout: 120_000,
}, async () => {
  const dir = makeFolder();
  const next = random(drawnSeed);
  const { instance, started } = await openWatched(dir);
  await instance.createQueue({ name: 'q' });
  await run(instance.openSession(), 'CREATE TABLE item (payload TEXT PRIMARY KEY)');
  const committed: string[] = [];
  let working = true;
  const work = async (worker: number) => {
    const session = instance.openSession();
    for (let step = 0; working; step += 1) {
      const payload = `${worker}.${step}.${worker % 2 === 0 ? 'row' : 'message'}`;
      session.enqueue('q', { payload });
      if (worker % 2 === 0) session.execute('INSERT INTO item VALUES (?)', [payload]);
      await session.commit();
      committed.push(payload);
    }
  };
  const workers = Array.from({ length: 6 }, (_, worker) => work(worker));
  const kills = isTorture ? 20 : 3;
  for (let kill = 0; kill < kills; kill += 1) {
    const until = committed.length + 20;
    while (committed.length < until) await wait(next() * 5);
    started.at(-1)!.kill();
    while (started.length < kill + 2) await wait(1);
  }
  working = false;
  await Promise.all(workers);
  await instance.close();
  await compare(dir, committed);
});

it.skipIf(noFailingDisk)(
  `a statement that ends its process twice fails (${noFailingDisk ?? 'it writes more than the log may have'})`,
  { timeout: 60_000 },
  async () => {
    const dir = makeFolder();
    const { instance, started } = await openWatched(dir, { envOf: () => killAt('/instance-1.db-wal', 500) });
    await instance.createQueue({ name: 'q' });
    const sessions = Array.from({ length: 3 }, () => instance.openSession());
    await run(sessions[0]!, 'CREATE TABLE item (payload TEXT PRIMARY KEY)');
    await run(sessions[0]!, 'CREATE TABLE large (bytes)');
    const committed = ['0.row', '1.row', '2.row'];
    for (const [index, session] of sessions.entries()) {
      session.enqueue('q', { payload: committed[index]! });
      session.execute('INSERT INTO item VALUES (?)', [committed[index]!]);
    }
    // 40 MB exceed the page cache of SQLite, so the statement itself writes to the log.
    const tens = Array.from({ length: 10 }, (_, index) => `(${index})`).join(',');
    sessions[1]!.execute(
      `WITH a(x) AS (VALUES ${tens}) INSERT INTO large SELECT zeroblob(4000) || 'a' FROM a, a b, a c, a d`,
    );
    const ended = await Promise.allSettled(sessions.map((session) => session.commit()));
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(ended[1]).toMatchObject({ reason: { code: 'SQL_FAILED', details: { reason: 'SIGKILL' } } });
    expect(started).toHaveLength(3); // The second process reported which statement it was running.
    await instance.close();
    await compare(dir, ['0.row', '2.row']);
  },
);

it('an instance ends when its writer process ends again and again', async () => {
  const { instance, started } = await openWatched(makeFolder(), { onStarted: (child) => child.kill() });
  const session = instance.openSession();
  session.execute('SELECT 1');
  await expect(session.commit()).rejects.toThrow(expect.objectContaining({ code: 'INSTANCE_FAILED' }));
  expect(started).toHaveLength(5);
});

it('a writer process that ends between the queries of a transaction fails that transaction only', async () => {
  const dir = makeFolder();
  const { instance, started } = await openWatched(dir);
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  await run(session, 'CREATE TABLE item (payload TEXT PRIMARY KEY)');
  for (const endsWith of ['query', 'commit'] as const) {
    await session.query('INSERT INTO item VALUES (?)', [`lost ${endsWith}`]);
    const writer = started.at(-1)!;
    writer.kill();
    while (readProcessStart(writer.pid!) !== undefined) await wait(1);
    const undone = expect.objectContaining({ code: 'STORAGE_FAILED', retryable: true });
    if (endsWith === 'query') await expect(session.query('SELECT 1')).rejects.toThrow(undone);
    await expect(session.commit()).rejects.toThrow(undone);
  }
  session.enqueue('q', { payload: 'after.row' });
  await session.query('INSERT INTO item VALUES (?)', ['after.row']);
  await session.commit();
  await instance.close();
  await compare(dir, ['after.row']);
});
