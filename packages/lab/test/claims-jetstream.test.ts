/** The judges of the claims about NATS JetStream, with servers that do what the documents say and others that do not. */
import type { Params, Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';

const study = bundledStudies.studies.find(({ id }) => id === 'jetstream')!;
const ids = study.claims.map(({ id }) => id);
const judge = (claims: readonly string[], points: readonly Point[]) =>
  bundledStudies.judge(claims, points, { cores: 2 });
const verdict = (id: string, points: readonly Point[]) => judge([id], points)[0]!.verdict;

type Figures = Record<string, number | readonly number[]>;

function pointOf(program: string, system: string, params: Params, figures: Figures): Point {
  const lost = figures.lost === undefined ? [0] : [figures.lost].flat();
  return {
    program,
    system,
    params,
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, value]) => {
        const repeats = typeof value === 'number' ? Array.from({ length: 5 }, () => value) : [...value];
        return [name, { value: repeats[0]!, unit: '', provenance: 'measured', repeats }];
      }),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: {
      lost: lost.reduce((sum, each) => sum + each, 0),
      duplicated: 0,
      damaged: 0,
      outOfOrder: 0,
      left: 0,
    },
    repeats: [],
  };
}

const whole = { gapMs: 5_000, acknowledged: 900, consumed: 900, unknown: 0, lost: 0, doubled: 0 };
const failure = (fault: string, changed: Figures = {}) =>
  pointOf('jetstream-failover', 'jetstream-r3-synced', { fault }, { ...whole, ...changed });
const powerCut = (cut: string, system: string, lost: number | readonly number[], changed: Figures = {}) =>
  pointOf('jetstream-power-cut', system, { cut }, { ...whole, lost, ...changed });

const load = (system: string, dequeuePerSec: number, params: Params = {}) =>
  pointOf(
    'closed-loop',
    system,
    { schedule: 'at-once', enqueuers: 16, dequeuers: 16, operationsPerTransaction: 10, ...params },
    { dequeuePerSec },
  );
const standing = (system: string, backlog: number, dequeuePerSec: number) =>
  pointOf('standing-backlog', system, { backlog }, { dequeuePerSec });

/** Points of servers that lose as much as the documents say. */
const asSaid: readonly Point[] = [
  ...['none', 'kill', 'pause', 'partition'].map((fault) => failure(fault)),
  ...['all', 'one'].flatMap((cut) => [
    powerCut(cut, 'jetstream-r3', 700),
    powerCut(cut, 'jetstream-r3-synced', 0),
  ]),
];
const rates: readonly Point[] = [0, 10].flatMap((subscribers) => [
  load('sharded-remote', 40_000, { subscribers }),
  load('jetstream-r1', 10_000, { subscribers }),
  load('jetstream-r1-synced', 3_000, { subscribers }),
  load('jetstream-r3', 4_000, { subscribers }),
  load('jetstream-r3-synced', 1_500, { subscribers }),
]);
const backlogs = ['jetstream-r1', 'jetstream-r3-synced'].flatMap((system) => [
  standing(system, 1_000, 2_000),
  standing(system, 50_000, 1_900),
]);
const ofIntegrity = ['J1', 'J2', 'J4', 'J5', 'J6'];

describe('the claims about JetStream', () => {
  it('hold for servers that do what the documents say', () => {
    // A run has either faults or rates, so their claims are judged with points of their own.
    const held = [...judge(ofIntegrity, asSaid), ...judge(['J3'], asSaid.slice(0, 4))];
    const others = judge(['J7', 'J8', 'J9', 'J10'], [...rates, ...backlogs]);
    expect([...held, ...others].map(({ id, verdict: said }) => [id, said])).toEqual(
      [...ofIntegrity, 'J3', 'J7', 'J8', 'J9', 'J10'].map((id) => [id, 'holds']),
    );
  });

  it.each<[string, string, Point[]]>([
    ['J1', 'one lost message', [failure('kill', { lost: 1 })]],
    ['J2', 'one message that was consumed twice', [failure('partition', { doubled: 1 })]],
    ['J3', 'an election of ten seconds', [failure('kill', { gapMs: 10_000 })]],
    ['J4', 'a power cut that loses nothing', [powerCut('all', 'jetstream-r3', 0)]],
    ['J5', 'a power cut that loses nothing', [powerCut('one', 'jetstream-r3', 0)]],
    ['J6', 'one message lost with all servers', [powerCut('all', 'jetstream-r3-synced', 1)]],
    ['J6', 'one message lost with one server', [powerCut('one', 'jetstream-r3-synced', 1)]],
    ['J7', 'syncs that cost nothing', [load('jetstream-r3', 4_000), load('jetstream-r3-synced', 4_100)]],
    ['J8', 'replicas that cost nothing', [load('jetstream-r1', 4_000), load('jetstream-r3', 4_100)]],
    [
      'J9',
      'three servers that are faster',
      [load('sharded-remote', 3_900), load('jetstream-r3-synced', 4_000)],
    ],
    [
      'J10',
      'a backlog that halves the rate',
      [standing('jetstream-r1', 1_000, 2_000), standing('jetstream-r1', 50_000, 1_000)],
    ],
  ])('%s does not hold with %s', (id, _, points) => {
    expect(verdict(id, points)).toBe('does-not-hold');
  });

  it('that something can be lost hold after a loss in one repeat', () => {
    const [claim] = judge(['J5'], [powerCut('one', 'jetstream-r3', [0, 0, 40, 0, 0])]);
    expect(claim).toMatchObject({ verdict: 'holds', value: 40, provisional: false });
    expect(claim!.reason).toContain('in 1 of 5');
  });

  it.each<[string, Point]>([
    ['J1', failure('kill', { lost: [0, 0, 0, 1, 0, 0, 0, 0] })],
    ['J2', failure('pause', { doubled: [0, 0, 0, 0, 0, 0, 1] })],
    ['J6', powerCut('all', 'jetstream-r3-synced', [1, 0, 0, 0, 0, 0, 0, 0])],
  ])('%s does not hold if a single repeat of many is off', (id, point) => {
    const [claim] = judge([id], [point]);
    expect(claim).toMatchObject({ verdict: 'does-not-hold', provisional: false });
    expect(claim!.reason).toContain('a repeat had 1');
  });

  it('that nothing is lost do not hold for servers that acknowledged nothing', () => {
    const silent = powerCut('all', 'jetstream-r3-synced', 0, { acknowledged: 0 });
    expect(verdict('J6', [silent])).toBe('inconclusive');
  });

  it('compare only systems that had the same workload', () => {
    const apart = [load('jetstream-r3', 4_000), load('jetstream-r3-synced', 1_000, { subscribers: 10 })];
    expect(verdict('J7', apart)).toBe('inconclusive');
    expect(verdict('J10', [standing('jetstream-r1', 1_000, 9), standing('jetstream-r1', 2_000, 9)])).toBe(
      'inconclusive',
    );
    expect(verdict('J10', [standing('sharded', 1_000, 9), standing('sharded', 50_000, 9)])).toBe(
      'inconclusive',
    );
  });

  it('are undecided without points, and say what they need', () => {
    for (const { id, verdict: said, reason } of judge(ids, [])) {
      expect([id, said]).toEqual([id, 'inconclusive']);
      expect(reason).toMatch(/^Needs /);
    }
  });
});

describe('a store that only pretends to keep messages', () => {
  /** It acknowledges everything and keeps nothing, always at the same speed. */
  const pretending: readonly Point[] = [
    ...['kill', 'pause', 'partition'].map((fault) => failure(fault, { lost: 900, consumed: 0, gapMs: 20 })),
    ...['all', 'one'].flatMap((cut) => [
      powerCut(cut, 'jetstream-r3', 900),
      powerCut(cut, 'jetstream-r3-synced', 900),
    ]),
  ];
  const counter: readonly Point[] = [
    ...['jetstream-r1', 'jetstream-r1-synced', 'jetstream-r3', 'jetstream-r3-synced'].map((system) =>
      load(system, 9_000_000),
    ),
    load('sharded-remote', 40_000_000),
    ...['jetstream-r1', 'jetstream-r3'].flatMap((system) => [
      standing(system, 1_000, 9_000_000),
      standing(system, 50_000, 9_000_000),
    ]),
  ];

  it('makes the claims hold that are graded weak, and no other', () => {
    const quick = [failure('kill', { gapMs: 20 })];
    const met = [
      ...judge(ofIntegrity, pretending),
      ...judge(['J3'], quick),
      ...judge(['J7', 'J8', 'J9', 'J10'], counter),
    ].filter(({ verdict: said }) => said === 'holds');
    const weak = study.claims.filter((claim) => claim.weak !== undefined);
    expect(met.map(({ id }) => id).sort()).toEqual(weak.map(({ id }) => id).sort());
  });
});
