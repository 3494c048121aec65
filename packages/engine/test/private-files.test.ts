import { chmodSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openInstance } from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { serve } from './remote/serving.ts';

const open = (dir: string) =>
  globSync('**', { cwd: dir }).filter((name) => (statSync(join(dir, name)).mode & 0o077) !== 0);

it('files of an instance are private to their user from creation, and existing files are made so', async () => {
  const dir = join(makeFolder(), 'cluster');
  for (const _opening of ['new', 'left open']) {
    const instance = await openInstance({ dir });
    for (const kind of ['sharded', 'unsharded', 'unsharded-grouped'] as const) {
      if (!instance.queues().some(({ name }) => name === kind))
        await instance.createQueue({ name: kind, kind });
      const session = instance.openSession();
      session.enqueue(kind, { payload: 'p' });
      await session.commit();
    }
    const served = await serve(instance, join(dir, 'socket'));
    const names = globSync('**', { cwd: dir });
    expect(names.filter((name) => name.endsWith('-wal')).length).toBeGreaterThanOrEqual(2);
    expect(names).toEqual(
      expect.arrayContaining(['instance-1.lock', 'instance-1.redo-0', 'instance-1.redo-1']),
    );
    expect(open(dir)).toEqual([]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const logs = names.filter((name) => !name.includes('socket')).map((name) => join(dir, name));
    await served.close();
    await instance.close();
    for (const path of logs)
      if (statSync(path, { throwIfNoEntry: false })) chmodSync(path, path === dir ? 0o700 : 0o666);
  }
});
