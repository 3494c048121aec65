/** Grouped unsharded queues of instances that share a folder: the elected writer, the counted waits, and refused calls. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { convertQueue } from '../../src/cluster/conversion/convert-queue.ts';
import { QueueError } from '../../src/index.ts';
import { WaitRecorder } from '../../src/model/wait-recorder.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { GroupedWrites } from '../../src/unsharded/grouped-writes.ts';
import { LazyUnshardedFile } from '../../src/unsharded/lazy-unsharded-file.ts';
import type { ClaimingCall } from '../../src/unsharded/unsharded-writes.ts';
import { WriteLock } from '../../src/unsharded/write-lock.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';

const kind = 'unsharded-grouped';
const code = (value: string) => expect.objectContaining({ code: value });

describe('grouped unsharded queues', () => {
  it('commit several sessions in one group, and count commits, groups and waits', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', kind });
    const sessions = Array.from({ length: 20 }, () => instance.openSession());
    for (const [index, session] of sessions.entries()) session.enqueue('q', { payload: `${index}` });
    const commits = await Promise.all(sessions.map((session) => session.commit()));
    expect(commits.flatMap(({ ids }) => ids)).toEqual(sessions.map((_, index) => `${index + 1}`));
    const { commits: committed, groups } = instance.stats();
    expect(committed).toBe(20);
    expect(groups).toBeLessThan(3);

    const taken = await Promise.all(sessions.map((session) => session.dequeue('q')));
    expect(taken.flatMap(text)).toEqual(sessions.map((_, index) => `${index}`));
    const waits = new Map(instance.waits.snapshot().map((each) => [each.event, each.waits]));
    expect(waits.get('log file sync')).toBe(20);
    expect(waits.get('claim')).toBe(20);
    expect(waits.get('write lock')).toBe(40);
  });

  it('wake a dequeue that waits at another instance, and continue when the elected writer closes', async () => {
    const dir = makeFolder();
    const [first, second, third] = [
      await openTestInstance({ dir, instance: 1 }),
      await openTestInstance({ dir, instance: 2 }),
      await openTestInstance({ dir, instance: 3 }),
    ];
    await first.createQueue({ name: 'q', kind });
    const put = async (instance: typeof first, payload: string) => {
      const session = instance.openSession();
      session.enqueue('q', { payload });
      await session.commit();
    };
    await put(first, 'a'); // The first instance is elected.
    const consumer = second.openSession();
    expect(text(await consumer.dequeue('q'))).toEqual(['a']);
    const waiting = third.openSession().dequeue('q', { waitMs: 60_000 });
    await put(second, 'b');
    expect(text(await waiting)).toEqual(['b']);

    await first.close();
    await consumer.rollback(); // The consumer still holds its message after the change of the writer.
    const again = third.openSession();
    expect(text(await again.dequeue('q', { waitMs: 60_000 }))).toEqual(['a']);
    await put(second, 'c');
    await again.commit();
    expect(second.queue('q')).toMatchObject({ enqueued: 3, consumed: 1, held: 1, ready: 1 });
  });

  it('refuse what unsharded queues refuse, before anything is written', async () => {
    const instance = await openTestInstance();
    const invalid = code('QUEUE_SPEC_INVALID');
    await expect(instance.createQueue({ name: 'q', kind, priorities: true })).rejects.toThrow(invalid);
    await expect(instance.createQueue({ name: 'q', kind, durability: 'memory' })).rejects.toThrow(invalid);
    expect(instance.queues()).toEqual([]);
    expect(await instance.createQueue({ name: 'q', kind, shards: 4 })).toMatchObject({ kind, shards: 0 });
  });

  it('refuse a conversion, and a transaction that is also on the other unsharded kind', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'grouped', kind });
    await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
    await instance.createQueue({ name: 'topic', kind: 'unsharded', type: 'topic' });
    for (const queue of ['grouped', 'topic'])
      await expect(convertQueue({ dir, queue })).rejects.toThrow(code('QUEUE_NOT_CONVERTIBLE'));
    const session = instance.openSession();
    session.enqueue('jobs', { payload: 'a' });
    expect(() => session.enqueue('grouped', { payload: 'b' })).toThrow(code('TX_SPANS_FILES'));
    await session.commit();
    expect(instance.queue('jobs').enqueued).toBe(1);
    expect(instance.queue('grouped').enqueued).toBe(0);
  });
});

describe('messages claimed for several waiting calls', () => {
  const consumer = { queueId: 1, subscriber: 0 };
  const fail = () => {
    throw new QueueError('STORAGE_FAILED');
  };

  /** Writes over a file with the messages a and b. */
  async function setUp() {
    const dir = makeFolder();
    const queue = { queueId: 1, name: 'q' };
    const options = { queues: () => [queue], queueById: () => queue, onFailed: fail, ports: nodePorts };
    const file = new LazyUnshardedFile(dir, options, () => undefined);
    const writes = new GroupedWrites({
      dir,
      file,
      lock: new WriteLock({ dir, ports: nodePorts, onWaited: () => undefined }),
      ports: nodePorts,
      waits: new WaitRecorder({ clock: nodePorts.clock }),
      onReady: () => undefined,
    });
    onTestFinished(() => writes.close([]));
    const enqueued = ['a', 'b'].map((payload) => ({ queueId: 1, record: Buffer.from(payload) }));
    await writes.commit({ enqueued, consumed: [], sync: 'FULL' });
    return { writes, tables: file.opened.tables };
  }

  /** A call for one message; \`isOver\`: its wait has ended in the meantime. */
  function waitingCall(isOver = false) {
    const texts: string[] = [];
    const finish: ClaimingCall['finish'] = (rows) => {
      texts.push(...rows.map(({ record }) => String(record)));
      return !isOver;
    };
    return { max: 1, begin: () => undefined, finish, texts };
  }

  it('reach the others if those of one call, which is over, cannot be returned', async () => {
    const { writes, tables } = await setUp();
    vi.spyOn(tables, 'release').mockImplementation(fail);
    const calls = [waitingCall(true), waitingCall()];
    await expect(writes.serve(consumer, calls)).rejects.toThrow(code('STORAGE_FAILED'));
    expect(calls.map(({ texts }) => texts)).toEqual([['a'], ['b']]);
  });

  it('reach their calls if the claim of another one fails', async () => {
    const { writes, tables } = await setUp();
    const claim = tables.claim.bind(tables);
    // The claims fail together, and are then made one by one.
    vi.spyOn(tables, 'claim')
      .mockImplementationOnce(fail)
      .mockImplementationOnce(claim)
      .mockImplementationOnce(fail);
    const calls = [waitingCall(), waitingCall()];
    await expect(writes.serve(consumer, calls)).rejects.toThrow(code('STORAGE_FAILED'));
    expect(calls.map(({ texts }) => texts)).toEqual([['a'], []]);
  });
});
