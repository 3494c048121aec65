/** The torture in its small form: `npm run torture` does the same at length. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tortureReport } from '../src/torture/report.ts';
import { faultCount, runTorture } from '../src/torture/run-torture.ts';

it('300 kills at all points lose nothing that was acknowledged and double nothing', {
  timeout: 900_000, // four minutes on two idle cores
}, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-torture-'));
  const seed = Date.now() % 2 ** 31;
  console.info(`torture: seed ${seed}`);
  const state = await runTorture({ kills: 300, seed, dir });
  onTestFinished(() => {
    if (faultCount(state) === 0) rmSync(dir, { recursive: true, force: true });
  });
  expect(faultCount(state), tortureReport(state)).toBe(0);
  expect(state.kills).toBeGreaterThanOrEqual(300);
  expect(Object.keys(state.killsByPhase).length).toBeGreaterThanOrEqual(6);
  expect(Object.keys(state.killsByPhase).some((phase) => phase.startsWith('forwarding'))).toBe(true);
  expect(state.consumed).toBeGreaterThan(300);
});
