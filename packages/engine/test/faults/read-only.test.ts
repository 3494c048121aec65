/** Folders and files without write permission: a typed error names the path, and queues that do not need it are served. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeFolder, openTestInstance } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

const readOnly = { code: 'STORAGE_READ_ONLY', retryable: false };

/** Root may write everywhere. Without this capability, permissions apply to root like to any other user. */
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

describe.skipIf(rights === undefined)(`without write permission (${whyNot})`, () => {
  it('for its folder, an instance does not open and names the folder', async () => {
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

  it('for the parent of its folder, an instance does not open and reports that the folder cannot be created', async () => {
    const dir = join(makeFolder(), 'parent');
    mkdirSync(dir);
    forbid(dir, 0o555);
    const worker = new FaultProcess(rights);
    const error = await worker.refused({ do: 'open', options: { dir: join(dir, 'data') } });
    expect(error).toMatchObject({ ...readOnly, details: { path: join(dir, 'data') } });
  });

  it.each(['catalog.db', 'instance-1.db'])(
    'for the file %s, an instance does not open and names the file',
    async (name) => {
      const dir = await makeQueues();
      forbid(join(dir, name), 0o444);
      const worker = new FaultProcess(rights);
      const error = await worker.refused({ do: 'open', options: { dir } });
      expect(error).toMatchObject({ ...readOnly, details: { path: join(dir, name) } });
    },
  );

  it('for the file of the unsharded queues, an instance serves its other queues', async () => {
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
