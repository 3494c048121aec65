/** A small real run, in which a queue of two instances is converted under load. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunEvent, Scenario } from '@shardlab/contract';
import { parseScenario, startRun } from '@shardlab/lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { conversionsInWords } from '../src/cli/conversion-words.ts';
import { smallScenario } from './support.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const converting = (changes: Partial<Scenario> = {}): Scenario =>
  smallScenario({
    claims: ['W8'],
    systems: ['unsharded'],
    sweep: { instances: [2], threads: [2] },
    phases: { warmupMs: 100, measureMs: 1_500, drainMs: 20_000 },
    conversion: { atMs: 300 },
    ...changes,
  });

test('a queue becomes a sharded one under its load, and every message arrives once and in order', async () => {
  const eventTypes: string[] = [];
  const kinds = new Set<number>();
  const onEvent = (event: RunEvent) => {
    if (event.type !== 'tick') return;
    for (const { type } of event.tick.events ?? []) eventTypes.push(type);
    for (const { shards } of event.tick.instances)
      for (const { shard } of shards) kinds.add(Number(shard > 0));
  };
  const run = await startRun({ scenario: converting(), scale: 'full', dataDir, onEvent });
  expect(run.error).toBeNull();
  const [point] = run.points;
  expect(point!.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
  const { conversion, timeline } = point!.repeats[0]!;
  expect(conversion!.steps.map(({ step }) => step)).toEqual([
    'stop-enqueue',
    'drain',
    'stop-dequeue',
    'check-empty',
    'drop',
    'size-cache',
    'create',
    'start',
  ]);
  expect(conversion!.withoutEnqueueMs).toBeGreaterThan(0);
  expect(new Set(timeline!.map(({ instance }) => instance))).toEqual(new Set([1, 2]));
  expect(eventTypes).toEqual(['converting', 'converted']);
  // In these samples the unsharded queue has the shard number 0.
  expect(kinds).toEqual(new Set([0, 1]));
  expect(run.claims[0]!.id).toBe('W8');
  expect(conversionsInWords(run.points)).toMatch(
    /2 instances, repeat 1: started at .*\(stop-enqueue \d+, drain/,
  );
  expect(await readdir(dataDir)).toEqual([]);
}, 90_000);

describe('a scenario with a conversion', () => {
  const faultsOf = (changes: Partial<Scenario>) => {
    const parsed = parseScenario(JSON.stringify(converting(changes)));
    return parsed.ok ? [] : parsed.faults.map(({ path }) => path);
  };

  test('is accepted', () => {
    expect(faultsOf({})).toEqual([]);
  });

  test.each<[string, Partial<Scenario>]>([
    ['/systems/1', { systems: ['unsharded', 'sharded'] }],
    ['/conversion/atMs', { conversion: { atMs: 1_500 } }],
    ['/parameters/sessions', { parameters: { sessions: 'remote' } }],
  ])('is refused at %s', (path, changes) => {
    expect(faultsOf(changes)).toContain(path);
  });
});
