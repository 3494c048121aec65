/** The judges of the claims about XA over instances: with the document's own figures, with those of others, and off by one. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { Random } from '@shardlab/model';
import { describe, expect, it } from 'vitest';
import { noisy } from '../src/impostors/books.ts';
import type { XaParams } from '../src/programs/xa/xa-params.ts';
import {
  perInsertS,
  type RunName,
  roundTripsOfXa,
  waitOf,
  xaDocument,
} from '../src/studies/xa/document/document-figures.ts';

const study = bundledStudies.studies.find(({ id }) => id === 'xa')!;
const judge = (id: string, points: readonly Point[]) => bundledStudies.judge([id], points, { cores: 2 })[0]!;
const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
const repeats = 5;
const exact = ['callsPerTransaction', 'roundTripsPerTransaction', 'activeTogetherShare', 'preparesPassedOn'];

const usual: XaParams = {
  transaction: 'two-branches',
  instances: 2,
  sessions: 2,
  messagesPerSession: 1_000,
  work: 'enqueue',
  coupling: 'tight',
  preparedBy: 'own',
  payloadBytes: 100,
  roundTripMs: 1.2,
  syncMs: 0.72,
  syncTimes: 'equal',
  redo: 'shared',
  interconnectMs: 4,
};

type Figures = Record<string, number>;

function pointOf(params: Partial<XaParams>, figures: Figures, chance = new Random(1)): Point {
  const valuesOf = (name: string, value: number) =>
    Array.from({ length: repeats }, () => (exact.includes(name) ? value : noisy(value, chance, 0.02)));
  return {
    program: 'xa',
    system: 'xa-remote',
    params: { ...usual, ...params } as unknown as Point['params'],
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, value]) => {
        const measured = valuesOf(name, value);
        return [name, { value: measured[0]!, unit: '', provenance: 'measured', repeats: measured }];
      }),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: whole,
    repeats: [],
  };
}

const local = { transaction: 'local', coupling: 'loose' } as const;

/** The parameters of each run of the document. */
const documentParams: Record<RunName, Partial<XaParams>> = {
  C1: { ...local, sessions: 1, instances: 1, syncMs: 21.6 },
  C2: { ...local, syncMs: 21.6 },
  C3: local,
  C4: { instances: 1 },
  C5: {},
  C6: { preparedBy: 'other' },
};

function documentFigures(name: RunName): Figures {
  const run = xaDocument[name];
  const [sync, lock] = [waitOf(run, 'log file sync'), waitOf(run, 'DFS lock handle')];
  const isXa = documentParams[name].transaction !== 'local';
  const transactions = run.inserts / (isXa ? 2 : 1);
  return {
    elapsedMsPerMessage: 1_000 * perInsertS(run),
    messagesPerSec: 1 / perInsertS(run),
    syncMsPerWait: (1_000 * sync.totalS) / sync.waits,
    callsPerTransaction: isXa ? roundTripsOfXa : 2,
    roundTripsPerTransaction: isXa ? roundTripsOfXa : 2,
    ...(isXa
      ? {
          lockMsPerTransaction: (1_000 * lock.totalS) / transactions,
          lockWaitsPerTransaction: lock.waits / transactions,
          activeTogetherShare: 0,
          preparesPassedOn: name === 'C6' ? 2 : 0,
        }
      : {}),
  };
}

const documentPoint = (name: RunName, changed: Figures = {}, seed = 1) =>
  pointOf(documentParams[name], { ...documentFigures(name), ...changed }, new Random(seed));

/** A point whose branches keep the lock from their start to their end. */
const keptLockPoint = (changed: Figures = {}) =>
  pointOf({ coupling: 'tight-branches' }, { ...documentFigures('C5'), ...changed });

const loosePoint = (activeTogetherShare: number) =>
  pointOf(
    { coupling: 'loose' },
    { ...documentFigures('C5'), callsPerTransaction: 10, roundTripsPerTransaction: 10, activeTogetherShare },
  );

/** A point of the document's run C2 with a redo device for each instance. */
const ownRedo = (messagesPerSec: number) =>
  pointOf(
    { ...documentParams.C2, redo: 'own' },
    { ...documentFigures('C2'), messagesPerSec, elapsedMsPerMessage: 1_000 / messagesPerSec },
  );

const reference: Record<string, Point[]> = {
  X1: [documentPoint('C1'), documentPoint('C2'), ownRedo(80)],
  X2: [documentPoint('C2'), documentPoint('C3')],
  X3: [documentPoint('C3'), documentPoint('C4')],
  X4: [documentPoint('C4'), documentPoint('C5')],
  X5: [documentPoint('C5'), documentPoint('C6')],
  X6: [documentPoint('C4'), documentPoint('C5')],
  X7: [keptLockPoint(), loosePoint(0.9)],
};

const timesElapsed = (name: RunName, factor: number) => {
  const { elapsedMsPerMessage, messagesPerSec } = documentFigures(name);
  return documentPoint(name, {
    elapsedMsPerMessage: elapsedMsPerMessage! * factor,
    messagesPerSec: messagesPerSec! / factor,
  });
};

/** The point with its last repeat off by a tenth of a call, as if one in ten transactions made one more call. */
function onceOff(point: Point, name: string): Point {
  const figure = point.figures[name]!;
  const off = [...figure.repeats.slice(1), figure.value + 0.1];
  return { ...point, figures: { ...point.figures, [name]: { ...figure, repeats: off } } };
}

describe('the claims about XA over instances', () => {
  it("hold for the document's own figures", () => {
    const verdicts = Object.fromEntries(
      study.claims.map(({ id }) => [id, judge(id, reference[id]!).verdict]),
    );
    expect(verdicts).toEqual(Object.fromEntries(study.claims.map(({ id }) => [id, 'holds'])));
  });

  it('are inconclusive without points', () => {
    for (const { id } of study.claims)
      expect(judge(id, []), id).toMatchObject({ verdict: 'inconclusive', repeats: 0 });
  });

  it.each([
    ['X1', 'two sessions do twice what one does', [documentPoint('C1'), timesElapsed('C2', 0.7)]],
    ['X1', 'nobody waits longer', [documentPoint('C1'), documentPoint('C2', { syncMsPerWait: 20 })]],
    ['X1', 'a device each does not help', [documentPoint('C1'), documentPoint('C2'), ownRedo(61)]],
    ['X2', 'the faster device cuts little', [documentPoint('C2'), timesElapsed('C3', 3)]],
    ['X2', 'the disk was nearly all of the time', [documentPoint('C2'), timesElapsed('C3', 0.4)]],
    ['X3', 'XA costs nothing', [documentPoint('C3'), timesElapsed('C4', 0.52)]],
    ['X3', 'XA costs five times', [documentPoint('C3'), timesElapsed('C4', 2.6)]],
    ['X3', 'the calls only double', [documentPoint('C3'), documentPoint('C4', { callsPerTransaction: 7 })]],
    ['X4', 'two instances cost nothing', [documentPoint('C4'), timesElapsed('C5', 0.28)]],
    [
      'X4',
      'the lock costs as much on one',
      [documentPoint('C4', { lockMsPerTransaction: 10 }), documentPoint('C5')],
    ],
    [
      'X4',
      'the lock costs five times as much',
      [documentPoint('C4'), documentPoint('C5', { lockMsPerTransaction: 1.6 })],
    ],
    ['X5', 'prepares on the other instance are free', [documentPoint('C5'), timesElapsed('C6', 0.9)]],
    ['X5', 'they double the time', [documentPoint('C5'), timesElapsed('C6', 1.8)]],
    [
      'X5',
      'one was not passed on, once',
      [documentPoint('C5'), onceOff(documentPoint('C6'), 'preparesPassedOn')],
    ],
    [
      'X5',
      'the other runs pass prepares on too',
      [onceOff(documentPoint('C5'), 'preparesPassedOn'), documentPoint('C6')],
    ],
    ['X6', 'ten calls', [documentPoint('C4', { callsPerTransaction: 10 })]],
    ['X6', 'one transaction had a call more, once', [onceOff(documentPoint('C4'), 'callsPerTransaction')]],
    [
      'X6',
      'the client sends fewer requests than calls',
      [documentPoint('C4', { roundTripsPerTransaction: 7 })],
    ],
    [
      'X7',
      'both were active together, once',
      [onceOff(keptLockPoint(), 'activeTogetherShare'), loosePoint(0.9)],
    ],
    ['X7', 'the client never has both active', [keptLockPoint(), loosePoint(0)]],
  ])('%s does not hold where %s', (id, _, points) => {
    expect(['does-not-hold', 'mixed']).toContain(judge(id, points).verdict);
  });

  it('are not comparable where there is nothing to compare', () => {
    const loose = (name: RunName) =>
      pointOf({ ...documentParams[name], coupling: 'loose' }, documentFigures(name));
    expect(judge('X4', [loose('C4'), loose('C5')])).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('no lock over instances'),
    });
    const kept = (name: RunName) =>
      pointOf({ ...documentParams[name], coupling: 'tight-branches' }, documentFigures(name));
    expect(judge('X4', [kept('C4'), kept('C5')])).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('and 10.3 ms in 2.5 waits'),
    });
    const crossed = documentPoint('C6', { preparesPassedOn: 0 });
    expect(judge('X5', [documentPoint('C5'), crossed]).verdict).toBe('not-comparable');
    const tenCalls = judge('X6', [documentPoint('C4'), loosePoint(1)]);
    expect(tenCalls.clauses.find(({ statement }) => statement === 'work in two files')).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('10 calls, 10 round trips'),
    });
  });

  it('seldom hold for random numbers', () => {
    const held = new Map(study.claims.map(({ id }) => [id, 0]));
    const seeds = 100;
    const runs = Object.keys(documentParams) as RunName[];
    for (let seed = 1; seed <= seeds; seed += 1) {
      const chance = new Random(seed);
      const between = (low: number, high: number) => low * (high / low) ** chance.next();
      const drawn = (preparesPassedOn = 0): Figures => {
        const elapsedMsPerMessage = between(0.5, 100);
        return {
          elapsedMsPerMessage,
          messagesPerSec: 1_000 / elapsedMsPerMessage,
          syncMsPerWait: between(0.5, 50),
          callsPerTransaction: Math.round(between(1, 20)),
          roundTripsPerTransaction: Math.round(between(1, 20)),
          lockMsPerTransaction: between(0.1, 50),
          activeTogetherShare: Math.round(chance.next() * 10) / 10,
          preparesPassedOn,
        };
      };
      const points = Object.fromEntries(
        runs.map((name) => [name, pointOf(documentParams[name], drawn(name === 'C6' ? 2 : 0), chance)]),
      );
      const of = (...names: RunName[]) => names.map((name) => points[name]!);
      const lineOf: Record<string, Point[]> = {
        X1: [...of('C1', 'C2'), ownRedo(between(10, 1_000))],
        X2: of('C2', 'C3'),
        X3: of('C3', 'C4'),
        X4: of('C4', 'C5'),
        X5: of('C5', 'C6'),
        X6: of('C4', 'C5'),
        X7: [keptLockPoint(drawn()), loosePoint(chance.next())],
      };
      for (const { id } of study.claims)
        if (judge(id, lineOf[id]!).verdict === 'holds') held.set(id, held.get(id)! + 1);
    }
    const weak = study.claims.filter((claim) => claim.weak !== undefined).map(({ id }) => id);
    const often = [...held].filter(([, count]) => count > 0.1 * seeds).map(([id]) => id);
    expect(often, JSON.stringify([...held])).toEqual(weak);
  });
});
