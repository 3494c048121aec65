/** Files of an instance that are deleted or replaced beneath it: commits succeed, and the probe says that they are lost. */
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openInstance } from '../src/index.ts';
import { FilesInUse } from '../src/storage/sqlite/files-in-use.ts';
import { makeFolder } from './folder.ts';
import { waiting } from './waiting.ts';

const replaced = (name: string) => ({
  code: 'STORAGE_REPLACED',
  message: expect.stringContaining(`${name} was deleted or replaced`),
});

describe('the probe of an instance', () => {
  async function open() {
    const dir = makeFolder();
    const instance = await openInstance({ dir, instance: 1 });
    onTestFinished(() => instance.close().catch(() => undefined));
    await instance.createQueue({ name: 'sharded' });
    await instance.createQueue({ name: 'table', kind: 'unsharded' });
    const session = instance.openSession();
    for (const queue of ['sharded', 'table']) {
      session.enqueue(queue, { payload: 'x' });
      await session.commit();
    }
    await instance.probe();
    return { dir, instance };
  }

  it.each(['catalog.db', 'instance-1.db', 'unsharded.db', 'instance-1.db-wal', 'unsharded.ack'])(
    'fails when its %s was deleted',
    async (name) => {
      const { dir, instance } = await open();
      expect(existsSync(join(dir, name))).toBe(true);
      rmSync(join(dir, name));
      await vi.waitFor(() => expect(instance.probe()).rejects.toMatchObject(replaced(name)), waiting);
    },
  );

  it('fails when a file was replaced by a copy of it', async () => {
    const { dir, instance } = await open();
    cpSync(join(dir, 'instance-1.ack'), join(dir, 'copy'));
    renameSync(join(dir, 'copy'), join(dir, 'instance-1.ack'));
    await vi.waitFor(
      () => expect(instance.probe()).rejects.toMatchObject(replaced('instance-1.ack')),
      waiting,
    );
  });

  it('fails when its folder was moved away, and succeeds once it is back', async () => {
    const { dir, instance } = await open();
    renameSync(dir, `${dir}-moved`);
    onTestFinished(() => rmSync(`${dir}-moved`, { recursive: true, force: true }));
    await vi.waitFor(
      () => expect(instance.probe()).rejects.toMatchObject({ code: 'STORAGE_REPLACED' }),
      waiting,
    );
    renameSync(`${dir}-moved`, dir);
    await vi.waitFor(() => instance.probe(), waiting);
  });
});

it('takes what is opened later for the file that was opened, and a log that another connection began for the same', async () => {
  const dir = makeFolder();
  const instance = await openInstance({ dir, instance: 1 });
  const [open, later] = [[join(dir, 'instance-1.db')], join(dir, 'unsharded.db')];
  const files = new FilesInUse({ open, later, others: () => [] });
  expect(existsSync(later)).toBe(false);
  await instance.createQueue({ name: 'table', kind: 'unsharded' });
  const session = instance.openSession();
  session.enqueue('table', { payload: 'x' });
  await session.commit();
  await files.assertInPlace();
  await instance.close(); // the last connection deletes the log
  expect(existsSync(`${open[0]}-wal`)).toBe(false);
  await files.assertInPlace();
  const again = await openInstance({ dir, instance: 1 });
  onTestFinished(() => again.close());
  await files.assertInPlace();
  rmSync(later);
  await expect(files.assertInPlace()).rejects.toMatchObject(replaced('unsharded.db'));
});
