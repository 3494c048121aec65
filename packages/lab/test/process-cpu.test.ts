import { describe, expect, it } from 'vitest';
import { cpuUsOfTrees, parseStat } from '../src/systems/driver/process-cpu.ts';

describe('CPU of other processes', () => {
  it('is read after the process name, which may contain any character', () => {
    const fields = Array.from({ length: 20 }, (_, index) => String(index));
    const text = `42 (odd) name 7 7) S ${['77', ...fields].slice(0, 20).join(' ')}`;
    expect(parseStat(text)).toEqual({ parent: 77, cpuUs: (9 + 10 + 11 + 12) * 10_000 });
  });

  it.runIf(process.platform === 'linux')('includes this process if it is the root of a tree', () => {
    expect(cpuUsOfTrees([process.pid])).toBeGreaterThan(0);
    expect(cpuUsOfTrees([])).toBe(0);
  });
});
