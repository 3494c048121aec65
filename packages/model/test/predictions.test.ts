/** The hardware file of the white paper's machine: what it may contain, and what the model predicts from it. */
import { readFileSync } from 'node:fs';
import {
  type HardwareFile,
  predictWhitePaper,
  resolveHardware,
  type SimulationResult,
  type SweepPoint,
  simulateWhitePaper,
  sourcesOf,
  type WhitePaperPoints,
  withParameters,
} from '@shardlab/model';
import { describe, expect, test } from 'vitest';

const path = new URL('../../../scenarios/hardware/exadata-x4-2.json', import.meta.url);
const exadata = JSON.parse(readFileSync(path, 'utf8')) as HardwareFile;

describe("the file of the white paper's machine", () => {
  test('has at most three free parameters, fitted to A2, A5 and A11 only', () => {
    expect(Object.keys(exadata.parameters).length).toBeLessThanOrEqual(3);
    expect(exadata.observations.map(({ claim }) => claim)).toEqual(['A2', 'A5', 'A11']);
  });

  test('every cost in time is fitted or zero', () => {
    for (const { path: name, leaf } of sourcesOf(exadata.costs)) {
      if (/Us$/.test(name) && leaf.source !== 'fitted') expect([name, leaf.value]).toEqual([name, 0]);
      if (leaf.source === 'measured') throw new Error(`${name} cannot have been measured`);
    }
  });

  test('costs are whole multiples of a parameter', () => {
    for (const { leaf } of sourcesOf(exadata.costs)) {
      if (leaf.source === 'fitted') expect(Number.isInteger(leaf.times)).toBe(true);
    }
  });
});

describe('predictions', () => {
  const points = simulateWhitePaper(resolveHardware(exadata), { effort: 0.6 });
  const hits = (from: WhitePaperPoints) =>
    predictWhitePaper(from)
      .filter(({ hit }) => hit)
      .map(({ claim }) => claim);

  test('cover each claim that no parameter was fitted to, once', () => {
    const predictions = predictWhitePaper(points);
    expect(predictions.map(({ claim }) => claim).join(' ')).toBe('A1 A4 A6 A7 A12 A13 A14 A15 A16 A17 A18');
    for (const { value, says, reason } of predictions) {
      expect(Number.isFinite(value)).toBe(true);
      expect(says.length * reason.length).toBeGreaterThan(0);
    }
  });

  test('of shapes are hits; those of the rates of topics are misses, since the model is too fast', () => {
    expect(hits(points).join(' ')).toBe('A1 A4 A6 A7 A13 A14 A15 A17 A18');
  });

  /** The same points with some results changed. */
  function changed(
    sweep: keyof WhitePaperPoints,
    change: (result: SimulationResult, point: SweepPoint) => Partial<SimulationResult>,
  ): WhitePaperPoints {
    const mapped = points[sweep].map((point) => ({
      ...point,
      result: { ...point.result, ...change(point.result, point) },
    }));
    return { ...points, [sweep]: mapped };
  }
  const faster = (factor: number) => (result: SimulationResult) => ({
    enqueuePerSec: result.enqueuePerSec * factor,
    dequeuePerSec: result.dequeuePerSec * factor,
  });
  const dearer = (factor: number) => (result: SimulationResult) => ({
    cpuUsPerMessage: result.cpuUsPerMessage * factor,
  });
  const onEight =
    (factor: number) =>
    (result: SimulationResult, { instances }: SweepPoint) =>
      instances === 8 ? faster(factor)(result) : {};

  test.each([
    ['A1', 'eight instances are slower', changed('shardedQueue', onEight(0.7))],
    [
      'A1',
      'the curve bends',
      changed('shardedQueue', (_, { threads }) => ({ dequeuePerSec: Math.min(threads, 4) })),
    ],
    [
      'A4',
      'unsharded gains with threads',
      changed('unshardedQueue', (_, { threads }) => ({ dequeuePerSec: threads })),
    ],
    [
      'A6',
      'unsharded dequeues keep up',
      changed('unshardedQueue', ({ enqueuePerSec }) => ({ dequeuePerSec: enqueuePerSec })),
    ],
    ['A6', 'sharded enqueues do not scale', changed('shardedQueue', () => ({ enqueuePerSec: 100 }))],
    ['A7', 'sharded needs as much CPU', changed('shardedQueue', dearer(30))],
    ['A13', 'unsharded gains with instances', changed('unshardedTopic', onEight(50))],
    ['A14', 'sharded needs as much CPU', changed('shardedTopic', dearer(80))],
    ['A15', 'eight instances are slower', changed('shardedTopic', onEight(0.7))],
    ['A17', 'an instance is busy', changed('shardedTopic', ({ use }) => ({ use: { ...use, cores: 0.2 } }))],
    [
      'A18',
      'unsharded stays flat',
      changed('unshardedTopic', (r) => ({ dequeueCallMs: { ...r.dequeueCallMs, mean: 1 } })),
    ],
    [
      'A18',
      'sharded rises',
      changed('shardedTopic', (r, { threads }) => ({ dequeueCallMs: { ...r.dequeueCallMs, mean: threads } })),
    ],
  ])('%s is a miss where %s', (claim, _, from) => {
    expect(hits(from)).not.toContain(claim);
  });

  test('of the rates of topics are hits if the rates are right, and misses if they are too low', () => {
    expect(hits(changed('shardedTopic', faster(0.55)))).toContain('A12');
    expect(hits(changed('shardedTopic', faster(0.3)))).not.toContain('A12');
    expect(hits(changed('shardedTopicBatches', faster(0.75)))).toContain('A16');
    expect(hits(changed('shardedTopicBatches', faster(0.4)))).not.toContain('A16');
  });

  test('change with the machine: if its CPU steps take ten times as long, instances are no longer idle', () => {
    const slow = simulateWhitePaper(resolveHardware(withParameters(exadata, { stepUs: 200 })), {
      effort: 0.2,
    });
    expect(hits(slow)).not.toContain('A17');
  });
});
