import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from '../run.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shardlab-browser-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function ensureBrowser(env: Record<string, string>) {
  const script = `const { ensureBrowser } = await import('./scripts/browser.mjs'); console.log(await ensureBrowser());`;
  const args = ['--input-type=module', '-e', script];
  return spawnSync(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, encoding: 'utf8' });
}

test('a Chromium on the PATH is used', () => {
  const chromium = join(folder, 'chromium');
  writeFileSync(chromium, '', { mode: 0o755 });
  expect(ensureBrowser({ PATH: folder, CHROMIUM_PATH: '' }).stdout.trim()).toBe(chromium);
});

test('the headless shell is preferred to a whole Chromium, because journeys take less CPU in it', () => {
  const [, shell] = ['chromium', 'chromium-headless-shell'].map((name) => {
    const file = join(folder, name);
    writeFileSync(file, '', { mode: 0o755 });
    return file;
  });
  expect(ensureBrowser({ PATH: folder, CHROMIUM_PATH: '' }).stdout.trim()).toBe(shell);
});

test('CHROMIUM_PATH has priority, and is an error if it names no file', () => {
  const named = join(folder, 'my-chromium');
  const missing = ensureBrowser({ CHROMIUM_PATH: named });
  expect(missing.status).toBe(1);
  expect(missing.stderr).toContain(`CHROMIUM_PATH names ${named}, which does not exist`);
  writeFileSync(named, '', { mode: 0o755 });
  expect(ensureBrowser({ CHROMIUM_PATH: named }).stdout.trim()).toBe(named);
});
