/**
 * A thousand of each thing that a program can have: the work for each does not grow with their number, and none of them is left in
 * memory once they are gone. What SQLite does is not counted.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Measured } from './measure-process.ts';
import { rows } from './rows.ts';

describe('a thousand of', () => {
  let measured: Map<string, Measured>;

  beforeAll(async () => {
    const script = fileURLToPath(new URL('./measure-process.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], {
      env: { ...process.env, NODE_OPTIONS: '' }, // code is named by its source file, so no bundles may be loaded
      maxBuffer: 16 * 1024 * 1024,
    });
    measured = new Map((JSON.parse(stdout) as Measured[]).map((row) => [row.thing, row]));
  }, 300_000);

  it.each(rows)('$thing', ({ thing, leftBytesMax }) => {
    const { grown, left, failure } = measured.get(thing)!;
    expect(failure).toBeUndefined();
    expect(grown, 'what runs more often for each of many').toEqual([]);
    expect(left, 'bytes that each leaves').toBeLessThanOrEqual(leftBytesMax);
  });
});
