/** The rules of the soak on invented figures, and a soak of a few seconds that checks shape and integrity, never speed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { judgeSoak, type SoakMeasurements } from '../src/soak/judge.ts';
import { soakReport } from '../src/soak/report.ts';
import { runSoak } from '../src/soak/run-soak.ts';

const mib = 1024 * 1024;
const lengthMs = 180_000;

/** Figures of three minutes that fulfil all rules, except for `change`, whose functions get the share of the run that has passed. */
function figures(change: {
  memory?: (share: number) => number;
  log?: (share: number) => number;
  p99?: (share: number) => number;
  sent?: number;
  backlog?: number;
  lost?: number;
}): SoakMeasurements {
  const { memory = () => 200 * mib, log = () => 33 * mib, p99 = () => 4 } = change;
  const samples = (every: number, of: (share: number) => number) =>
    Array.from({ length: lengthMs / every }, (_, index) => {
      const atMs = (index + 1) * every;
      return { atMs, bytes: of(atMs / lengthMs) };
    });
  return {
    targetPerSec: 1_000,
    sent: change.sent ?? 180_000,
    consumed: 180_000,
    ms: lengthMs,
    backlog: change.backlog ?? 0,
    memory: samples(500, memory),
    log: samples(250, log),
    windows: samples(10_000, p99).map(({ atMs, bytes }) => ({
      atMs,
      consumed: 10_000,
      backlog: 0,
      latencyMs: { p50: bytes / 4, p99: bytes, max: bytes * 2 },
    })),
    integrity: { lost: change.lost ?? 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
  };
}

const broken = (change: Parameters<typeof figures>[0]) =>
  judgeSoak(figures(change))
    .filter(({ passed }) => !passed)
    .map(({ name }) => name);

describe('the rules of a soak', () => {
  it('hold if nothing changes, and do not consider the start', () => {
    expect(broken({})).toEqual([]);
    expect(broken({ memory: (share) => (share < 0.2 ? 60 : 200) * mib })).toEqual([]);
    expect(broken({ p99: (share) => (share < 0.2 ? 900 : 4) })).toEqual([]);
    expect(broken({ memory: (share) => (190 + 10 * share) * mib })).toEqual([]);
  });

  it.each<[string, Parameters<typeof figures>[0]]>([
    ['flat memory', { memory: (share) => (100 + 200 * share) * mib }],
    ['bounded log', { log: (share) => (share > 0.5 && share < 0.51 ? 200 : 30) * mib }],
    ['steady p99', { p99: (share) => 4 + 20 * share }],
    ['no slow window', { p99: (share) => (share > 0.5 && share < 0.56 ? 400 : 4) }],
    ['keeps up', { sent: 150_000 }],
    ['keeps up', { backlog: 1_001 }],
    ['integrity', { lost: 1 }],
  ])('are each broken by figures that violate only this one: %s', (name, change) => {
    expect(broken(change)).toEqual([name]);
  });
});

it('a soak of seconds watches a real instance, which loses nothing', { timeout: 120_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-soak-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const seen: number[] = [];
  const result = await runSoak({
    dir,
    saturateMs: 400,
    steadyMs: 2_500,
    windowMs: 500,
    onWindow: ({ atMs }) => seen.push(atMs),
  });
  expect(result.integrity).toEqual({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
  expect(result.saturationPerSec).toBeGreaterThan(0);
  expect(result.targetPerSec).toBeCloseTo(result.saturationPerSec * 0.7);
  expect(result.sent).toBeGreaterThan(0);
  expect(result.windows.length).toBeGreaterThanOrEqual(2);
  expect(seen).toEqual(result.windows.map(({ atMs }) => atMs));
  expect(result.memory.every(({ bytes }) => bytes > 10 * mib)).toBe(true);
  expect(result.log.some(({ bytes }) => bytes > 0)).toBe(true);
  expect(result.rules.map(({ name }) => name)).toEqual([
    'flat memory',
    'bounded log',
    'steady p99',
    'no slow window',
    'keeps up',
    'integrity',
  ]);
  expect(result.rules.find(({ name }) => name === 'integrity')?.passed).toBe(true);
  expect(soakReport(result)).toContain('messages/s');
});
