/** Backups of folders in use: the copy has everything that was committed before it began, and can be opened. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { backupFolder, checkFolder, type Instance, openInstance } from '../src/index.ts';
import { FaultProcess } from './faults/fault-process.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';

async function drain(instance: Instance, queue: string): Promise<string[]> {
  const session = instance.openSession();
  const found: string[] = [];
  for (;;) {
    const messages = await session.dequeue(queue, { max: 1_000 });
    if (messages.length === 0) return found;
    found.push(...text(messages));
    await session.commit();
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

describe('a backup', () => {
  it('of an instance under load has all that was committed before, in order, and nothing of the load is lost', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    let put = 0;
    let busy = true;
    const load = (async () => {
      for (; busy; put += 20) await worker.put('q', ...numbered(20).map((index) => `${put + Number(index)}`));
    })();
    const copies: { into: string; before: number }[] = [];
    for (let round = 0; round < 5; round += 1) {
      const known = put;
      await expect.poll(() => put).toBeGreaterThan(known + 200);
      const before = put;
      const into = join(makeFolder(), 'copy');
      expect(backupFolder(dir, into)).toEqual({ into, instances: [1] });
      copies.push({ into, before });
    }
    busy = false;
    await load;
    await worker.kill();
    for (const { into, before } of copies) {
      expect(checkFolder(into).faults).toEqual([]);
      const found = await drain(await openTestInstance({ dir: into }), 'q');
      expect(found.length).toBeGreaterThanOrEqual(before);
      expect(found).toEqual(numbered(found.length));
    }
    expect(await drain(await openTestInstance({ dir }), 'q')).toEqual(numbered(put));
  });

  it('has topics, delayed messages, unsharded queues and rows of the application, and gives no number twice', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'news', type: 'topic' });
    await instance.subscribe('news', { name: 'ann' });
    for (const kind of ['sharded', 'unsharded', 'unsharded-grouped'] as const)
      await instance.createQueue({ name: kind, kind });
    const session = instance.openSession();
    for (const name of ['news', 'sharded', 'unsharded', 'unsharded-grouped']) {
      session.enqueue(name, { payload: name });
      await session.commit();
    }
    session.enqueue('sharded', { payload: 'later', delayMs: 3_600_000 });
    const { ids } = await session.commit();
    session.execute('CREATE TABLE item (no INTEGER PRIMARY KEY)');
    session.execute('INSERT INTO item VALUES (7)');
    await session.commit();
    const into = join(makeFolder(), 'copy');
    backupFolder(dir, into);
    const copy = await openTestInstance({ dir: into });
    for (const name of ['sharded', 'unsharded', 'unsharded-grouped'])
      expect(await drain(copy, name)).toEqual([name]);
    expect(text(await copy.openSession().dequeue('news', { subscriber: 'ann' }))).toEqual(['news']);
    expect(copy.queue('sharded')).toMatchObject({ delayed: 1, enqueued: 2 });
    const again = copy.openSession();
    expect((await again.query('SELECT no FROM item')).rows).toEqual([{ no: 7 }]);
    await again.rollback();
    again.enqueue('sharded', { payload: 'new', delayMs: 3_600_000 });
    expect((await again.commit()).ids).not.toEqual(ids);
  });

  it('is refused into a folder that is not empty, and of one without queues', async () => {
    const into = makeFolder();
    writeFileSync(join(into, 'mine'), '');
    const dir = makeFolder();
    await (await openInstance({ dir })).close();
    const refused = expect.objectContaining({ code: 'OPTIONS_INVALID' });
    expect(() => backupFolder(dir, into)).toThrow(refused);
    expect(readdirSync(into)).toEqual(['mine']);
    expect(() => backupFolder(into, join(into, 'copy'))).toThrow(refused);
  });
});
