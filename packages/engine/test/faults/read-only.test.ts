/** Folders and files that may not be written: a typed error that names the path, and whatever can be served is. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeFolder, openTestInstance } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

const readOnly = { code: 'STORAGE_READ_ONLY', retryable: false };

/** Who runs as root may write everywhere; without this capability root is asked for its permission like anybody else. */
const plainRights = ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'];

function whoMayNotWrite(): { through: string[] } | undefined {
  if (process.getuid?.() !== 0) return { through: [] };
  const [command = '', ...args] = [...plainRights, 'true'];
  return spawnSync(command, args).status === 0 ? { through: plainRights } : undefined;
}
const rights = whoMayNotWrite();
const whyNot = rights === undefined ? 'needs setpriv where the tests run as root' : 'its permissions say so';

/** A folder with two queues and a message in each. */
async function makeQueues(): Promise<string> {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'sharded' });
  await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
  for (const queue of ['sharded', 'jobs']) {
    const session = instance.openSession();
    session.enqueue(queue, { payload: 'a' });
    await session.commit();
  }
  await instance.close();
  return dir;
}

function forbid(path: string, mode: number): void {
  chmodSync(path, mode);
  onTestFinished(() => chmodSync(path, 0o755));
}

describe.skipIf(rights === undefined)(`what may not be written (${whyNot})`, () => {
  it('a folder: the instance does not open, and says which', async () => {
    const dir = await makeQueues();
    forbid(dir, 0o555);
    const worker = new FaultProcess(rights);
    const error = await worker.refused({ do: 'open', options: { dir } });
    expect(error).toMatchObject(readOnly);
    expect(JSON.stringify(error.details)).toContain(dir);
    chmodSync(dir, 0o755);
    await worker.open({ dir });
    expect(await worker.take('sharded', 9)).toEqual(['a']);
  });

  it('a folder for the folder: it is not made, and the instance says so', async () => {
    const dir = join(makeFolder(), 'parent');
    mkdirSync(dir);
    forbid(dir, 0o555);
    const worker = new FaultProcess(rights);
    const error = await worker.refused({ do: 'open', options: { dir: join(dir, 'data') } });
    expect(error).toMatchObject({ ...readOnly, details: { path: join(dir, 'data') } });
  });

  it.each(['catalog.db', 'instance-1.db'])(
    'the file %s: the instance does not open, and says which',
    async (name) => {
      const dir = await makeQueues();
      forbid(join(dir, name), 0o444);
      const worker = new FaultProcess(rights);
      const error = await worker.refused({ do: 'open', options: { dir } });
      expect(error).toMatchObject({ ...readOnly, details: { path: join(dir, name) } });
    },
  );

  it('the file of the unsharded queues: the others are served', async () => {
    const dir = await makeQueues();
    forbid(join(dir, 'unsharded.db'), 0o444);
    const worker = new FaultProcess(rights);
    await worker.open({ dir });
    expect(await worker.refused({ do: 'put', queue: 'jobs', payloads: ['x'] })).toMatchObject(readOnly);
    expect(await worker.refused({ do: 'take', queue: 'jobs', max: 1 })).toMatchObject(readOnly);
    await worker.put('sharded', 'b');
    expect(await worker.take('sharded', 9)).toEqual(['a', 'b']);
    expect(await worker.list()).toEqual(['jobs: STORAGE_READ_ONLY', 'sharded: 0 ready']);
  });
});
