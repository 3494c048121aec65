/** After a real failure of a sync nothing is retried: the instance ends, and reopening it finds all that was acknowledged. */
import { describe, expect, it } from 'vitest';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { FailingDisk, noFailingDisk } from './failing-disk.ts';

const failed = { code: 'INSTANCE_FAILED', details: { cause: 'STORAGE_FAILED' } };

describe.skipIf(noFailingDisk)(`a sync that fails (${noFailingDisk ?? 'of a real file'})`, () => {
  it('of a group commit ends the instance; reopened, it has all that was acknowledged, and continues', async () => {
    const dir = makeFolder();
    const disk = new FailingDisk();
    const { process: worker } = disk;
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    await worker.put('q', 'a', 'b');
    expect(await worker.take('q', 1)).toEqual(['a']);

    disk.fail('sync', 'instance-1.redo-0');
    expect(await worker.refused({ do: 'put', queue: 'q', payloads: ['in doubt'] })).toMatchObject(failed);
    const { failures } = disk;
    expect(failures).toBe(1);
    // The disk works again, but it is unknown what it lost, so no commit is accepted before the file is reopened.
    disk.heal();
    expect(await worker.refused({ do: 'put', queue: 'q', payloads: ['c'] })).toMatchObject(failed);
    expect(await worker.refused({ do: 'take', queue: 'q', max: 1 })).toMatchObject(failed);
    expect(await worker.refused({ do: 'info', queue: 'q' })).toMatchObject(failed);
    await worker.kill();

    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'c' });
    await session.commit();
    const found = text(await session.dequeue('q', { max: 9 }));
    expect(found.filter((payload) => payload !== 'in doubt')).toEqual(['b', 'c']);
  });

  it('leaves the other instances of the folder alone', async () => {
    const dir = makeFolder();
    const other = await openTestInstance({ dir, instance: 2 });
    await other.createQueue({ name: 'q' });
    const disk = new FailingDisk();
    await disk.process.open({ dir });
    await disk.process.put('q', 'a');
    disk.fail('sync', 'instance-1.redo-0');
    await disk.process.refused({ do: 'put', queue: 'q', payloads: ['x'] });
    const session = other.openSession();
    session.enqueue('q', { payload: 'b' });
    await session.commit();
    expect(text(await session.dequeue('q'))).toEqual(['b']);
    await session.commit();
  });

  it('of the tables ends the instance, though every commit was acknowledged', async () => {
    const dir = makeFolder();
    const disk = new FailingDisk();
    const { process: worker } = disk;
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    await worker.put('q', 'a');
    disk.fail('sync', 'instance-1.db-wal');
    await worker.put('q', 'b');
    await expect
      .poll(() =>
        worker.put('q', 'late').then(
          () => undefined,
          (error: unknown) => error,
        ),
      )
      .toMatchObject(failed);
    expect(disk.failures).toBe(1);
    await worker.kill();
    const instance = await openTestInstance({ dir });
    expect(text(await instance.openSession().dequeue('q', { max: 2 }))).toEqual(['a', 'b']);
  });

  it('of a checkpoint ends the instance, though every commit was acknowledged', async () => {
    const dir = makeFolder();
    const disk = new FailingDisk();
    const { process: worker } = disk;
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    disk.fail('sync', 'instance-1.db');
    // Each commit succeeds, until after 2,000 pages of log a checkpoint writes to the file and fails to sync it.
    const payload = 'x'.repeat(900_000);
    let puts = 0;
    for (; disk.failures === 0 && puts < 100; puts += 1)
      await worker.put('q', payload).catch(() => undefined);
    expect(puts).toBeLessThan(100);
    await expect
      .poll(() =>
        worker.put('q', 'late').then(
          () => undefined,
          (error: unknown) => error,
        ),
      )
      .toMatchObject(failed);
    expect(disk.failures).toBe(1);
    await worker.kill();
    const instance = await openTestInstance({ dir });
    expect(instance.queue('q').ready).toBeGreaterThanOrEqual(puts - 1);
  });

  it.each(['unsharded', 'unsharded-grouped'] as const)(
    'of the file of %s queues ends the instance too',
    async (kind) => {
      const dir = makeFolder();
      const disk = new FailingDisk();
      const { process: worker } = disk;
      await worker.open({ dir });
      await worker.create({ name: 'sharded' });
      await worker.create({ name: 'jobs', kind });
      await worker.put('jobs', 'a');
      disk.fail('sync', 'unsharded.db-wal');
      expect(await worker.refused({ do: 'put', queue: 'jobs', payloads: ['in doubt'] })).toMatchObject(
        failed,
      );
      disk.heal();
      expect(await worker.refused({ do: 'put', queue: 'jobs', payloads: ['b'] })).toMatchObject(failed);
      expect(await worker.refused({ do: 'put', queue: 'sharded', payloads: ['b'] })).toMatchObject(failed);
      await worker.kill();
      const instance = await openTestInstance({ dir });
      const found = text(await instance.openSession().dequeue('jobs', { max: 9 }));
      expect(found.filter((payload) => payload !== 'in doubt')).toEqual(['a']);
    },
  );

  it('of the catalog ends the instance too', async () => {
    const dir = makeFolder();
    const disk = new FailingDisk();
    await disk.process.open({ dir });
    disk.fail('sync', 'catalog.db-wal');
    expect(await disk.process.refused({ do: 'create', spec: { name: 'q' } })).toMatchObject(failed);
    disk.heal();
    expect(await disk.process.refused({ do: 'create', spec: { name: 'r' } })).toMatchObject(failed);
  });
});
