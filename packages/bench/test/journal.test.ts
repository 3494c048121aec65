import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Journal } from '../src/journal.ts';

function makePath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'journal');
}

describe('the journal', () => {
  it('does work once, also after half a line was left by a kill', async () => {
    const path = makePath();
    expect(await new Journal(path, 'here').once('a', async () => ({ rate: 1 }))).toEqual({ rate: 1 });
    appendFileSync(path, '{"key":"b","val');
    const later = new Journal(path, 'here');
    expect(await later.once('a', async () => ({ rate: 2 }))).toEqual({ rate: 1 });
    expect(await later.once('b', async () => 3)).toBe(3);
    expect(await new Journal(path, 'here').once('b', async () => 4)).toBe(3);
  });

  it('keeps nothing of work that failed', async () => {
    const path = makePath();
    const failing = new Journal(path, 'here').once('a', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await new Journal(path, 'here').once('a', async () => 1)).toBe(1);
  });

  it('refuses a file of other circumstances', () => {
    const path = makePath();
    new Journal(path, 'one commit');
    expect(() => new Journal(path, 'another commit')).toThrow(/different conditions/);
  });
});
