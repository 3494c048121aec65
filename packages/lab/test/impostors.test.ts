/**
 * Negative controls: systems that are no durable queues go through the harness at every bundled scenario of the white
 * paper, and each of its judges meets their points. And a positive one: a system that does what the document says must make its claims hold.
 */
import type { DurabilityEvidence, Point, Scale, Scenario, Verdict } from '@shardlab/contract';
import { bundledStudies, readScenarioFolder } from '@shardlab/lab';
import { beforeAll, describe, expect, test } from 'vitest';
import { forged, type Impostor, impostors } from '../src/impostors/impostors.ts';
import { measure } from '../src/impostors/measure.ts';
import { randomisedPair } from '../src/impostors/randomised.ts';
import { reference } from '../src/impostors/reference.ts';
import { contradictionOf } from '../src/programs/queue/points/contradiction.ts';
import { queuePointOf } from '../src/programs/queue/points/queue-point.ts';

const seeds = 200;
/** The number of random pairs with forged time books; fewer are enough for these. */
const forgedSeeds = 20;
/** A claim that holds for at least this share of the random pairs says little. */
const weakFrom = 0.05;
const passesMax = 4;

interface Workload {
  scenario: Scenario;
  claims: string[];
}

/** The scenarios without those that have the same points as another one; each has the claims of all of them. */
function workloadsOf(scenarios: readonly Scenario[], scale: Scale): Workload[] {
  const found = new Map<string, Workload>();
  for (const scenario of scenarios) {
    const { program, systems, parameters, sweep, phases, faults, conversion, quick } = scenario;
    const scaled = scale === 'quick' ? { systems, sweep, phases, ...quick } : { systems, sweep, phases };
    const key = JSON.stringify([program, parameters, scaled.systems, scaled.sweep, faults, conversion]);
    const known = found.get(key)?.claims ?? [];
    const claims = [...new Set([...known, ...scenario.claims])];
    const { quick: _quick, ...whole } = { ...scenario, ...scaled, sweep: { ...sweep, ...scaled.sweep } };
    found.set(key, { scenario: { ...whole, repeats: 5 }, claims });
  }
  return [...found.values()].filter(({ claims }) => claims.length > 0);
}

type Verdicts = Map<string, Verdict[]>;

/** Claims that held without being marked as weak. */
const unmarked: string[] = [];

function verdictsOf(
  { systems }: Pick<Impostor, 'systems'>,
  workloads: readonly Workload[],
  seed: number,
): Verdicts {
  const verdicts: Verdicts = new Map();
  for (const { scenario, claims } of workloads) {
    const points = measure({ scenario, scale: 'full', systems, seed });
    for (const { id, verdict, weak } of bundledStudies.judge(claims, points, { cores: 2 })) {
      verdicts.set(id, [...(verdicts.get(id) ?? []), verdict]);
      if (verdict === 'holds' && weak === null) unmarked.push(id);
    }
  }
  return verdicts;
}

function withFigure(point: Point, name: string, value: number): Point {
  const figure = { value, unit: '', provenance: 'measured' as const, repeats: [value] };
  return { ...point, figures: { ...point.figures, [name]: figure } };
}

const { claims: allClaims } = bundledStudies.studies.find(({ id }) => id === 'white-paper')!;

const passed = (verdicts: Verdicts) =>
  [...verdicts].filter(([, of]) => of.includes('holds')).map(([id]) => id);
const ofWhitePaper = (ids: readonly string[]) => ids.filter((id) => id.startsWith('A'));

const letters: Readonly<Record<Verdict, string>> = {
  holds: 'H',
  mixed: 'M',
  'does-not-hold': 'f',
  inconclusive: 'i',
  'not-comparable': 'n',
};

let full: Workload[];
let quick: Workload[];
const named = new Map<string, Verdicts>();
const forgeries = new Map<string, Verdicts>();
const unseenForgeries = new Map<string, Verdicts>();
/** Claims that held for forged time books without kernel counters, and did not mention that these are missing. */
let unmarkedForgeries: string[] = [];
const randomPasses = new Map<string, number>();
const forgedPasses = new Map<string, number>();
let mostRandomPasses = 0;
let mostForgedPasses = 0;

beforeAll(async () => {
  const scenarios = (await readScenarioFolder()).flatMap(({ parsed }) =>
    parsed.ok && parsed.scenario.study === 'white-paper' ? [parsed.scenario] : [],
  );
  full = workloadsOf(scenarios, 'full');
  quick = workloadsOf(scenarios, 'quick');
  for (const impostor of impostors) {
    named.set(impostor.name, verdictsOf(impostor, full, 1));
    const counted = forged(impostor, 'counted');
    forgeries.set(counted.name, verdictsOf(counted, full, 1));
    const notCounted = forged(impostor, 'not counted');
    const before = unmarked.length;
    unseenForgeries.set(notCounted.name, verdictsOf(notCounted, full, 1));
    unmarkedForgeries = [...unmarkedForgeries, ...unmarked.slice(before)];
  }
  const count = (passes: Map<string, number>, ids: readonly string[]) => {
    for (const id of ids) passes.set(id, (passes.get(id) ?? 0) + 1);
  };
  for (let seed = 1; seed <= seeds; seed++) {
    const pair = randomisedPair(seed);
    const passes = passed(verdictsOf(pair, quick, seed));
    count(randomPasses, passes);
    mostRandomPasses = Math.max(mostRandomPasses, ofWhitePaper(passes).length);
    if (seed > forgedSeeds) continue;
    const forgedOnes = passed(verdictsOf(forged(pair, 'counted'), quick, seed));
    count(forgedPasses, forgedOnes);
    mostForgedPasses = Math.max(mostForgedPasses, ofWhitePaper(forgedOnes).length);
  }
  console.log(tableInWords());
}, 180_000);

function tableInWords(): string {
  const columns = [...named, ...forgeries, ...unseenForgeries];
  const percents = (passes: Map<string, number>, of: number, id: string) =>
    `${(((passes.get(id) ?? 0) / of) * 100).toFixed(1)} %`.padStart(9);
  const lines = allClaims.map(({ id }) => {
    const cells = columns.map(([, verdicts]) =>
      (verdicts.get(id) ?? []).map((each) => letters[each]).join(''),
    );
    return `${id.padEnd(5)}${cells.map((cell) => cell.padEnd(6)).join('')}${percents(randomPasses, seeds, id)}${percents(forgedPasses, forgedSeeds, id)}`;
  });
  return [
    'H holds, M mixed, f does not hold, i inconclusive, n not comparable; a letter for each workload',
    ...columns.map(([name], index) => `column ${index + 1}: ${name}`),
    `last columns: passes of ${seeds} random pairs, and of ${forgedSeeds} whose books add up`,
    ...lines,
  ].join('\n');
}

describe('systems that only pretend to be durable queues', () => {
  test.each(impostors.map(({ name }) => name))('%s: at most four claims of the white paper hold', (name) => {
    expect(ofWhitePaper(passed(named.get(name)!)).length).toBeLessThanOrEqual(passesMax);
  });

  test(`none of ${seeds} random pairs makes more than four claims hold`, () => {
    expect(mostRandomPasses).toBeLessThanOrEqual(passesMax);
  });

  test('none with forged time books makes more than four claims hold, if the kernel counts what it does', () => {
    for (const [name, verdicts] of forgeries)
      expect([name, ofWhitePaper(passed(verdicts)).length <= passesMax]).toEqual([name, true]);
    expect(mostForgedPasses).toBeLessThanOrEqual(passesMax);
  });

  test('forged time books are accepted if the kernel counts nothing, and each claim that holds is marked as weak', () => {
    expect([...unseenForgeries.values()].flatMap(passed).length).toBeGreaterThan(0);
    expect(unmarkedForgeries).toEqual([]);
    const { scenario } = full.find(({ claims }) => claims.includes('A1'))!;
    const { systems } = forged(impostors[0]!, 'not counted');
    const points = measure({ scenario, scale: 'full', systems, seed: 1 });
    expect(bundledStudies.judge(['A1'], points, { cores: 2 })[0]).toMatchObject({
      verdict: 'holds',
      weak: expect.stringContaining('counters of the kernel are missing'),
      reason: expect.stringContaining('Weak: The counters of the kernel are missing'),
    });
  });

  test('the claims graded weak are those that one of them, or 5 % or more of the random pairs, makes hold', () => {
    const passes = new Set([...named.values()].flatMap(passed));
    for (const [id, count] of randomPasses) if (count >= weakFrom * seeds) passes.add(id);
    const weak = allClaims.filter((claim) => claim.weak !== undefined).map(({ id }) => id);
    expect(weak.toSorted()).toEqual([...passes].toSorted());
    expect(ofWhitePaper(weak).length).toBeLessThanOrEqual(passesMax);
  });
});

describe('a system that does what the document says', () => {
  /** Other verdicts that are correct: A17 cannot be judged here, A8 not with even placement, and an open loop can only refute A9. */
  const otherVerdicts = new Map([
    ['A17', ['not-comparable']],
    ['A8', ['not-comparable', 'holds']],
    ['A9', ['holds', 'not-comparable']],
  ]);

  test('makes every claim hold that can be judged here', () => {
    const verdicts = verdictsOf({ systems: reference }, full, 1);
    expect([...verdicts.keys()].toSorted()).toEqual(allClaims.map(({ id }) => id).toSorted());
    for (const [id, of] of verdicts)
      expect([id, new Set(of)]).toEqual([id, new Set(otherVerdicts.get(id) ?? ['holds'])]);
  });

  test('has measurements that agree with each other, and no verdicts if they do not', () => {
    const { scenario } = full.find(({ claims }) => claims.includes('A7'))!;
    const points = measure({ scenario, scale: 'full', systems: reference, seed: 1 });
    const contradictions = points.map((point) => contradictionOf(queuePointOf(point), 2));
    expect(new Set(contradictions)).toEqual(new Set([null]));

    const changed: [string, (point: Point) => Point][] = [
      [
        'commits waited for a sync',
        (point) => ({
          ...point,
          waits: point.waits.map((wait) => ({ ...wait, waits: Math.round(wait.waits / 2) })),
        }),
      ],
      [
        'of their time',
        (point) => ({ ...point, waits: point.waits.map((wait) => ({ ...wait, totalMs: wait.totalMs * 3 })) }),
      ],
      [
        'cores',
        (point) => ({
          ...point,
          repeats: point.repeats.map((repeat) => ({ ...repeat, byInstance: { cpuShare: [0.001] } })),
        }),
      ],
      ['processes wrote 0.00 MiB', (point) => withFigure(point, 'writtenBytesPerSec', 0)],
      ['threads blocked 0 times', (point) => withFigure(point, 'blocksPerSec', 0)],
      ['the kernel counted 3.00', (point) => withFigure(point, 'kernelCores', 3)],
      ['their writer took', (point) => withFigure(point, 'syncWaitOfWrite', 13)],
      ['their writer took', (point) => withFigure(point, 'syncWaitOfWrite', 0.5)],
      [
        'inside a call',
        (point) => {
          const call = point.figures.dequeueCallMeanMs!;
          return {
            ...point,
            figures: { ...point.figures, dequeueCallMeanMs: { ...call, value: call.value * 1e4 } },
          };
        },
      ],
    ];
    for (const [words, change] of changed) {
      const [result] = bundledStudies.judge(['A7'], points.map(change), { cores: 2 });
      expect(result).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining(words) });
    }
  });

  test('is not durable once a kill was seen to lose its messages', () => {
    const { scenario } = full.find(({ claims }) => claims.includes('A7'))!;
    const points = measure({ scenario, scale: 'full', systems: reference, seed: 1 });
    const judgedWith = (durability: DurabilityEvidence) =>
      bundledStudies.judge(
        ['A7'],
        points.map((point) => ({ ...point, integrity: { ...point.integrity, durability } })),
        {
          cores: 2,
        },
      )[0]!.verdict;
    expect(judgedWith('shown')).toBe('holds');
    expect(judgedWith('not shown')).toBe('inconclusive');
    expect(judgedWith('not sampled')).toBe('inconclusive');
    expect(judgedWith('not promised')).toBe('holds');
  });

  test('has no verdicts about a disk if its files were in memory', () => {
    const { scenario } = full.find(({ claims }) => claims.includes('A7'))!;
    const points = measure({ scenario, scale: 'full', systems: reference, seed: 1 });
    const judgedOn = (fileSystem: string) =>
      bundledStudies.judge(['A7'], points, { cores: 2, fileSystem })[0]!;
    expect(judgedOn('ext4').verdict).toBe('holds');
    expect(judgedOn('tmpfs')).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('in memory (tmpfs)'),
    });
  });

  test('has no contradictions if another instance is the busy one in each repeat, as with an elected writer', () => {
    const { scenario } = full.find(({ claims }) => claims.includes('A7'))!;
    const points = measure({ scenario, scale: 'full', systems: reference, seed: 1 });
    const onlyOne = (shares: readonly number[], busy: number) =>
      shares.map((_, instance) =>
        instance === busy % shares.length ? shares.reduce((sum, share) => sum + share, 0) : 0,
      );
    const elected = points.map((point) => ({
      ...point,
      byInstance: { ...point.byInstance, cpuShare: point.byInstance.cpuShare!.map(() => 0) },
      repeats: point.repeats.map((repeat, index) => ({
        ...repeat,
        byInstance: { ...repeat.byInstance, cpuShare: onlyOne(point.byInstance.cpuShare!, index) },
      })),
    }));
    expect(elected.map((point) => contradictionOf(queuePointOf(point), 2))).toEqual(elected.map(() => null));
  });
});
