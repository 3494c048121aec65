/** `check` on the command line: its verdict in words, and its exit code. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstance } from '@shardlab/engine';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runCommand } from '../src/cli/commands.ts';

async function check(...args: string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  const complain = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  try {
    return { code: await runCommand(['check', ...args]), said };
  } finally {
    write.mockRestore();
    complain.mockRestore();
  }
}

it('reports that a folder is intact or damaged, and accepts a loss on request', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'shardlab-check-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const dir = join(parent, 'cluster');
  expect(await check(dir)).toMatchObject({
    code: 1,
    said: expect.stringContaining('no queues in the folder'),
  });
  mkdirSync(dir);
  expect(await check(dir)).toMatchObject({
    code: 1,
    said: expect.stringContaining('no queues in the folder'),
  });
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'q' });
  await instance.close();
  expect(await check(dir)).toMatchObject({ code: 0, said: expect.stringContaining(`${dir} is intact`) });
  // The folder of a server is named too, since that is the one that users know.
  expect(await check(parent)).toMatchObject({ code: 0, said: expect.stringContaining(`${dir} is intact`) });

  rmSync(join(dir, 'instance-1.db'));
  const json = join(parent, 'out.json');
  const missing = await check(dir, '--json', json);
  expect(missing).toMatchObject({ code: 1, said: expect.stringContaining('instance-1.db is missing') });
  expect(JSON.parse(readFileSync(json, 'utf8')).faults).toHaveLength(2);
  expect(await check(dir, '--accept-loss')).toMatchObject({ code: 0 });
  await (await openInstance({ dir })).close();
  expect(await check()).toMatchObject({ code: 2 });
});
