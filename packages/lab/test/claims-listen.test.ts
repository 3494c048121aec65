/**
 * The judges of the claims about listening, with the document's own figures, with those of other systems, and with figures that
 * are off by one.
 */
import type { Params, Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { Random } from '@shardlab/model';
import { describe, expect, it } from 'vitest';
import { noisy } from '../src/impostors/books.ts';
import { listenDocument } from '../src/studies/listen/document/document-figures.ts';

const study = bundledStudies.studies.find(({ id }) => id === 'listen')!;
const judge = (id: string, points: readonly Point[], cores = 64) =>
  bundledStudies.judge([id], points, { cores })[0]!;
const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
const repeats = 5;

function pointOf(program: string, params: Params, figures: Record<string, number[]>): Point {
  return {
    program,
    system: 'shared-topic',
    params,
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, values]) => [
        name,
        { value: values[0]!, unit: '', provenance: 'measured', repeats: values },
      ]),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: whole,
    repeats: [],
  };
}

const same = (value: number) => Array.from({ length: repeats }, () => value);

interface LoadFigures {
  dequeuePerSec: number;
  mutexGetsPerDequeue: number;
  latchGetsPerDequeue: number;
  mutexNsPerDequeue: number;
  latchNsPerDequeue: number;
  mutexSleepsPerDequeue: number;
}

function loadPoint(
  params: { pairs: number; method?: string; copies?: number },
  { mutexSleepsPerDequeue, ...given }: LoadFigures,
  chance = new Random(1),
): Point {
  const each = (value: number) => Array.from({ length: repeats }, () => noisy(value, chance, 0.03));
  const figures = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, each(value)]));
  const dequeues = 10_000;
  const all = { method: 'listen', copies: 1, subscribers: 100, payloadBytes: 4_000, durability: 'durable' };
  return pointOf(
    'listen',
    { ...all, ...params },
    {
      ...figures,
      mutexGets: same(given.mutexGetsPerDequeue * dequeues),
      mutexSleeps: each(mutexSleepsPerDequeue * dequeues),
      latchGets: same(Math.round(given.latchGetsPerDequeue * dequeues)),
      cpuCores: same(1),
    },
  );
}

/** Points with the figures in the document's table of session pairs. */
const documentLine = () =>
  listenDocument.table.map((row) =>
    loadPoint(
      { pairs: row.sessions },
      { ...row, dequeuePerSec: (row.messages * row.sessions) / 60, mutexSleepsPerDequeue: 0.1 },
    ),
  );

const at = (pairs: number, changed: Partial<LoadFigures> = {}): LoadFigures => ({
  dequeuePerSec: 1_000,
  mutexGetsPerDequeue: 30,
  latchGetsPerDequeue: 9,
  mutexNsPerDequeue: 100_000,
  latchNsPerDequeue: 20_000,
  mutexSleepsPerDequeue: pairs / 100,
  ...changed,
});

/** Points of 1 to 64 pairs, whose figures are a function of the number of pairs. */
const line = (of: (pairs: number) => Partial<LoadFigures>) =>
  [1, 2, 4, 8, 16, 32, 64].map((pairs) => loadPoint({ pairs }, at(pairs, of(pairs)), new Random(pairs)));

const casesAsTraced = {
  'message-there': { locks: 2, pins: 3, latchGets: 3, mutexGets: 18 },
  'message-comes': {
    ...{ waitingLocks: 2, waitingPins: 2, waitingLatchGets: 1, waitingMutexGets: 12 },
    ...{ locks: 4, pins: 5, latchGets: 9, mutexGets: 30 },
  },
  'message-for-another': {
    ...{ waitingLocks: 2, waitingPins: 2, waitingLatchGets: 1, waitingMutexGets: 12 },
    ...{ wokenLocks: 4, wokenPins: 4, wokenLatchGets: 7, wokenMutexGets: 24 },
    ...{ locks: 6, pins: 7, latchGets: 15, mutexGets: 42, falseWakeUps: 1 },
  },
  'time-out': {
    ...{ waitingLocks: 2, waitingPins: 2, waitingLatchGets: 1, waitingMutexGets: 12 },
    ...{ locks: 2, pins: 2, latchGets: 3, mutexGets: 12, timedOut: 1 },
  },
  'ten-listens': { latchGets: 30 },
  'ten-dequeues-by-name': { latchGets: 0 },
  'uncommitted-dequeue': { told: 1, dequeuedNothing: 1 },
  'idle-polls': { listenPollMs: 1_001, dequeuePollMs: 3_002 },
  'unknown-recipients': { temporaryMade: 1_035, temporaryKept: 1_024, subscribersRefused: 1 },
} as const;
type CaseName = keyof typeof casesAsTraced;

const casePoint = (name: CaseName, changed: Record<string, number[]> = {}): Point =>
  pointOf(
    'listen-cases',
    { case: name, copies: 1, payloadBytes: 4_000 },
    {
      ...Object.fromEntries(
        Object.entries(casesAsTraced[name]).map(([figure, value]) => [figure, same(value)]),
      ),
      ...changed,
    },
  );

const allCases = (changed: Partial<Record<CaseName, Record<string, number[]>>> = {}) =>
  (Object.keys(casesAsTraced) as CaseName[]).map((name) => casePoint(name, changed[name]));

/** Repeats of a value, of which the last is off by one. */
const onceOff = (value: number) => [...same(value).slice(1), value + 1];

const twoMethods = (subscriberSleeps: number, latchGetsPerDequeue = 0) => [
  loadPoint({ pairs: 80 }, at(80, { mutexSleepsPerDequeue: 0.8 })),
  loadPoint(
    { pairs: 80, method: 'subscriber' },
    at(80, { latchGetsPerDequeue, mutexSleepsPerDequeue: subscriberSleeps }),
  ),
];

const copies = (sleeps: readonly number[]) =>
  [1, 16, 254].map((count, index) =>
    loadPoint({ pairs: 32, copies: count }, at(32, { mutexSleepsPerDequeue: sleeps[index]! })),
  );

describe('the claims about listening', () => {
  it("hold for the document's figures, except that its table deviates from its model by more than its own check allows", () => {
    // Each scenario has points of its own, as in runs.
    const line = documentLine();
    const points: Record<string, Point[]> = { L1: line, L2: line, L3: line, L6: line, L4: twoMethods(0.2) };
    points.L7 = [...copies([0.3, 0.05, 0.01]), ...twoMethods(0.2)];
    const verdicts = Object.fromEntries(
      study.claims.map(({ id }) => [id, judge(id, points[id] ?? allCases()).verdict]),
    );
    expect(verdicts).toEqual({
      ...{ L1: 'holds', L2: 'holds', L3: 'holds', L4: 'holds', L5: 'holds' },
      ...{ L6: 'does-not-hold', L7: 'holds', L8: 'holds', L9: 'holds', L10: 'holds' },
    });
    expect(judge('L6', line).reason).toContain("The document's own table has 0.51 at 64");
  });

  it('about gets hold for a system with exactly the gets of the model', () => {
    const model = line((pairs) => ({ mutexGetsPerDequeue: 12 * pairs, latchGetsPerDequeue: 6 * pairs }));
    expect(judge('L6', model).verdict).toBe('holds');
    expect(judge('L2', model).verdict).toBe('holds');
  });

  it('are inconclusive without points', () => {
    for (const { id } of study.claims)
      expect(judge(id, []), id).toMatchObject({ verdict: 'inconclusive', repeats: 0 });
  });

  it.each([
    ['L1', 'the rate never falls', line((pairs) => ({ dequeuePerSec: 1_000 * pairs }))],
    ['L1', 'the rate falls from the first', line((pairs) => ({ dequeuePerSec: 1_000 / pairs }))],
    ['L2', 'gets do not depend on the sessions', line(() => ({}))],
    [
      'L2',
      'gets grow with their square',
      line((pairs) => ({ mutexGetsPerDequeue: pairs ** 2, latchGetsPerDequeue: pairs ** 2 })),
    ],
    [
      'L3',
      'the time grows as the sessions do',
      line((pairs) => ({ mutexNsPerDequeue: pairs ** 0.8, latchNsPerDequeue: pairs ** 0.8 })),
    ],
    [
      'L3',
      'the time grows faster before',
      line((pairs) => {
        const ns = pairs <= 8 ? pairs ** 3 : 8 ** 3 * (pairs / 8) ** 1.3;
        return { mutexNsPerDequeue: ns, latchNsPerDequeue: ns };
      }),
    ],
    ['L6', 'gets do not depend on the sessions', line(() => ({}))],
    [
      'L6',
      'each wake-up costs twice as much',
      line((pairs) => ({ mutexGetsPerDequeue: 24 * pairs, latchGetsPerDequeue: 12 * pairs })),
    ],
    ['L4', 'a dequeue by name waits as often', [...allCases(), ...twoMethods(0.79)]],
    ['L4', 'a dequeue by name takes a latch', [...allCases(), ...twoMethods(0.1, 0.001)]],
    ['L4', 'ten listens take 31 gets once', allCases({ 'ten-listens': { latchGets: onceOff(30) } })],
    ['L5', 'one get is missing once', allCases({ 'time-out': { mutexGets: [12, 12, 12, 12, 11] } })],
    ['L5', 'one lock too many once', allCases({ 'message-there': { locks: onceOff(2) } })],
    ['L5', 'the time-out is no error', allCases({ 'time-out': { timedOut: same(0) } })],
    ['L7', 'copies do not help', [...copies([0.3, 0.35, 0.4]), ...twoMethods(0.2)]],
    ['L7', 'subscribers take the latch', [...copies([0.3, 0.1, 0.1]), ...twoMethods(0.2, 0.001)]],
    ['L8', 'all are kept', allCases({ 'unknown-recipients': { temporaryKept: same(1_035) } })],
    ['L8', 'none is refused', allCases({ 'unknown-recipients': { subscribersRefused: same(0) } })],
    ['L9', 'no wake-up is false', allCases({ 'message-for-another': { falseWakeUps: same(0) } })],
    [
      'L9',
      'an uncommitted dequeue hides the message',
      allCases({ 'uncommitted-dequeue': { told: same(0), dequeuedNothing: same(0) } }),
    ],
    ['L10', 'both poll every second', allCases({ 'idle-polls': { dequeuePollMs: same(1_000) } })],
  ])('%s does not hold where %s', (id, _, points) => {
    expect(['does-not-hold', 'mixed']).toContain(judge(id, points).verdict);
  });

  it('are not comparable if the claim is missed and all of a few cores are busy', () => {
    const full = line((pairs) => ({ dequeuePerSec: 1_000 / pairs })).map((point) => ({
      ...point,
      figures: { ...point.figures, cpuCores: { ...point.figures.cpuCores!, value: 1.95 } },
    }));
    expect(judge('L1', full, 2).verdict).toBe('not-comparable');
    expect(judge('L1', full, 64).verdict).not.toBe('not-comparable');
  });

  it.each([
    ['L4', [...allCases(), ...twoMethods(0.79)]],
    ['L7', [...copies([0.3, 0.35, 0.4]), ...twoMethods(0.2)]],
    ['L1', line((pairs) => ({ dequeuePerSec: 1_000 / pairs }))],
  ])('%s is not comparable where its sessions wait for cores, and is where they do not', (id, points) => {
    const waiting = (runnableShare: number) =>
      points.map((point) => ({
        ...point,
        figures: {
          ...point.figures,
          runnableShare: {
            value: runnableShare,
            unit: '',
            provenance: 'measured' as const,
            repeats: same(runnableShare),
          },
        },
      }));
    const verdicts = (runnableShare: number, cores: number) =>
      judge(id, waiting(runnableShare), cores).clauses!.map(({ verdict }) => verdict);
    expect(verdicts(0.4, 2)).toContain('not-comparable');
    expect(verdicts(0.4, 2)).not.toContain('does-not-hold');
    // A refutation does not depend on how busy the cores are.
    for (const given of [verdicts(0.02, 2), verdicts(0.4, 64)]) {
      expect(given).toContain('does-not-hold');
      expect(given).not.toContain('not-comparable');
    }
  });

  it('about waits are inconclusive if no session slept', () => {
    const none = [loadPoint({ pairs: 2 }, at(2, { mutexSleepsPerDequeue: 0 })), ...twoMethods(0.2)];
    expect(judge('L7', none).verdict).toBe('inconclusive');
  });

  it('seldom hold for random numbers', () => {
    const held = new Map(study.claims.map(({ id }) => [id, 0]));
    const seeds = 100;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const chance = new Random(seed);
      const between = (low: number, high: number) => low * (high / low) ** chance.next();
      const drawn = () => ({
        dequeuePerSec: between(100, 10_000),
        mutexGetsPerDequeue: between(6, 1_000),
        latchGetsPerDequeue: between(1, 500),
        mutexNsPerDequeue: between(1e3, 1e8),
        latchNsPerDequeue: between(1e3, 1e8),
      });
      const counted = Object.fromEntries(
        (Object.keys(casesAsTraced) as CaseName[]).map((name) => [
          name,
          Object.fromEntries(
            Object.keys(casesAsTraced[name]).map((figure) => [figure, same(Math.round(between(1, 50)))]),
          ),
        ]),
      );
      const points: Record<string, Point[]> = {
        L5: allCases(counted),
        L4: twoMethods(chance.next(), chance.next()),
      };
      for (const id of ['L8', 'L9', 'L10']) points[id] = points.L5!;
      points.L7 = [...copies([1, 2, 3].map(() => chance.next())), ...twoMethods(0.2)];
      for (const { id } of study.claims)
        if (judge(id, points[id] ?? line(drawn)).verdict === 'holds') held.set(id, held.get(id)! + 1);
    }
    const weak = study.claims.filter((claim) => claim.weak !== undefined).map(({ id }) => id);
    const often = [...held].filter(([, count]) => count > 0.1 * seeds).map(([id]) => id);
    expect(often).toEqual(weak);
  });
});
