/** A real instance changes between its writer thread and its session thread as the writer, after any group. */
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { limits } from '../src/api/limits.ts';
import type { Instance } from '../src/index.ts';
import type { Group, GroupResult } from '../src/model/group-message.ts';
import { groupsPerEpoch } from '../src/model/group-number.ts';
import { nodePorts } from '../src/node-ports.ts';
import { instanceFilePath } from '../src/storage/instance-file/instance-file.ts';
import type { CommitPlacement } from '../src/storage/threads/commit-place.ts';
import { SessionThreadWriter } from '../src/storage/threads/session-thread-writer.ts';
import { WriterThread } from '../src/storage/threads/writer-thread-client.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { rowsOf } from './sql/application.ts';
import { ChangingPlacement } from './support/changing-placement.ts';
import { openWithPlacement } from './support/open-with-placement.ts';

async function open(placement: CommitPlacement, dir = makeFolder()): Promise<Instance> {
  const instance = await openWithPlacement({ dir, partitionMessagesMax: 5 }, placement);
  onTestFinished(() => instance.close());
  await instance.createQueue({ name: 'q', shards: 1, forwarding: false });
  return instance;
}

const groupsOnSessionThread = (instance: Instance) => instance.stats().counters['groups on session thread']!;
const changes = (instance: Instance) => instance.stats().counters['writer changes']!;

/** Commits one message after the other until the session thread has written a group. */
async function commitUntilOnSessionThread(instance: Instance): Promise<string[]> {
  const session = instance.openSession();
  const sent: string[] = [];
  for (const before = groupsOnSessionThread(instance); groupsOnSessionThread(instance) === before; ) {
    sent.push(`first ${sent.length}`);
    session.enqueue('q', { payload: sent.at(-1)! });
    await session.commit();
  }
  return sent;
}

async function drain(instance: Instance): Promise<string[]> {
  const session = instance.openSession();
  const drained: string[] = [];
  while (instance.queue('q').ready > 0) drained.push(...text(await session.dequeue('q', { max: 1_000 })));
  await session.commit();
  return drained;
}

it('the writer changes after each group of many sessions at once, and every message keeps its order', async () => {
  const dir = makeFolder();
  const instance = await open(new ChangingPlacement(() => true), dir);
  const committed: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, of) => {
      const session = instance.openSession();
      for (let i = 0; i < 25; i += 1) {
        session.enqueue('q', { payload: `${of} ${i}` });
        await session.commit();
        committed.push(`${of} ${i}`);
      }
    }),
  );
  const half = text(await instance.openSession().dequeue('q', { max: 100, waitMs: 0 }));
  expect(half).toEqual(committed.slice(0, 100)); // Callers resume in commit order, which is the order of delivery.
  expect(changes(instance)).toBeGreaterThan(10);
  expect(groupsOnSessionThread(instance)).toBeGreaterThan(5);
  await instance.close();
  const reopened = await openTestInstance({ dir });
  expect(await drain(reopened)).toEqual(committed);
});

it.each(['a staged statement', 'a query'])(
  'after %s all groups are written off the session thread',
  async (what) => {
    const dir = makeFolder();
    const instance = await open(new ChangingPlacement(() => false, 'session thread'), dir);
    const sent = await commitUntilOnSessionThread(instance);
    const session = instance.openSession();
    session.execute('CREATE TABLE item (id INTEGER PRIMARY KEY)');
    await session.commit();
    const groupsBefore = groupsOnSessionThread(instance);
    for (const id of [1, 2]) {
      session.enqueue('q', { payload: `row ${id}` });
      if (what === 'a query') await session.query('INSERT INTO item VALUES (?)', [id]);
      else session.execute('INSERT INTO item VALUES (?)', [id]);
      await session.commit();
    }
    session.enqueue('q', { payload: 'last' });
    await session.commit();
    expect(groupsOnSessionThread(instance)).toBe(groupsBefore);
    expect(await rowsOf(instance, 'SELECT id FROM item')).toEqual([{ id: 1 }, { id: 2 }]);
    await instance.close();
    const reopened = await openTestInstance({ dir });
    expect(await drain(reopened)).toEqual([...sent, 'row 1', 'row 2', 'last']);
  },
);

it('the writer thread does not stop if a statement arrives when it is about to', async () => {
  const placement = new ChangingPlacement(() => false);
  const instance = await open(placement);
  placement.change();
  const first = instance.openSession();
  const second = instance.openSession();
  first.enqueue('q', { payload: 'before' });
  const before = first.commit(); // The answer to this commit tells the writer thread to stop.
  const pendingStatement = before.then(() => {
    second.enqueue('q', { payload: 'with it' });
    second.execute('CREATE TABLE item (id INTEGER PRIMARY KEY)');
    return second.commit();
  });
  await pendingStatement;
  expect(groupsOnSessionThread(instance)).toBe(0);
  expect(changes(instance)).toBe(1);
  expect(await drain(instance)).toEqual(['before', 'with it']);
});

/** Does to the file what a process does that takes the instance over. */
function raiseEpoch(dir: string): void {
  const file = new Database(instanceFilePath(dir, 1));
  file.exec("UPDATE meta SET value = value + 1 WHERE key = 'epoch'");
  file.close();
}

const fenced = expect.objectContaining({ code: 'INSTANCE_FENCED' });

it('a group on the session thread is refused once another process has taken the instance over', async () => {
  const dir = makeFolder();
  const instance = await open(new ChangingPlacement(() => false, 'session thread'), dir);
  await commitUntilOnSessionThread(instance);
  raiseEpoch(dir);
  const session = instance.openSession();
  session.enqueue('q', { payload: 'late' });
  await expect(session.commit()).rejects.toThrow(fenced);
});

it.each(['writer thread', 'session thread'] as const)(
  'a change of the writer from the %s fails once another process has taken the instance over',
  async (from) => {
    const dir = makeFolder();
    const placement = new ChangingPlacement(() => false, from);
    const instance = await open(placement, dir);
    if (from === 'session thread') await commitUntilOnSessionThread(instance);
    const session = instance.openSession();
    const commit = () => {
      session.enqueue('q', { payload: 'late' });
      return session.commit();
    };
    placement.change();
    await commit(); // The change of the writer has begun.
    raiseEpoch(dir);
    await expect(commit()).rejects.toThrow(fenced);
  },
);

const groupOf = (groupNumber: number, generation: number): Group => ({
  kind: 'group',
  groupNumber,
  generation,
  sync: 'FULL',
  buffer: new SharedArrayBuffer(64),
  blocks: [],
  consumptionDeltas: [],
  outcomes: { offset: 0, length: 0, retiredThroughGroup: 0 },
  tableWrites: [],
  sqlTransactions: [],
  poolChanges: { create: [], assign: [], truncate: [] },
});

it.each(['writer thread', 'session thread'])(
  'the %s refuses groups that were built before the other thread failed',
  async (place) => {
    const options = {
      path: instanceFilePath(makeFolder(), 1),
      emulatedSync: { times: [0], device: undefined },
      logBytesMax: limits.logBytesMaxDefault,
    };
    const { writer, recovered } = await WriterThread.start(options, nodePorts);
    onTestFinished(() => writer.close());
    const ended: (string | undefined)[] = [];
    const onResult = ({ failure }: GroupResult) => void ended.push(failure?.code);
    const failure = { code: 'STORAGE_FULL' as const, message: 'The disk is full', details: {}, fatal: false };
    await writer.suspend();
    writer.attach({ onResult, onApplied: () => undefined, fail: (error) => expect.fail(error.message) });
    const session = new SessionThreadWriter({ ...options, ...nodePorts, epoch: recovered.epoch });
    onTestFinished(() => session.close());
    const groups = [groupOf(groupsPerEpoch + 1, 3), groupOf(groupsPerEpoch + 2, 4)];
    if (place === 'session thread') {
      session.resume({ generation: 3, failure });
      for (const group of groups) session.write(group, onResult);
    } else {
      writer.resume({ generation: 3, failure });
      for (const group of groups) writer.send(group);
    }
    await expect.poll(() => ended).toEqual(['STORAGE_FULL', undefined]);
  },
);
