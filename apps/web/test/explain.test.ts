import type { Swimlane } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import {
  activityGroups,
  activityOf,
  activityOrder,
  busiestPoint,
  inUnit,
  whyInWords,
} from '../src/model/active-sessions.ts';
import { activityChange, changeInWords } from '../src/model/activity-change.ts';
import { formatRatioChange, formatUsShort } from '../src/model/format-change.ts';
import { bucketsFrom, formatPowerNs, middleBucket, sharesOf } from '../src/model/power-buckets.ts';
import { layoutSequence, rowMin, sequenceOf, sequenceTotals } from '../src/model/sequence.ts';
import { cpuInWords, sessionWaitTables } from '../src/model/session-wait-tables.ts';
import {
  herdInWords,
  herdLanes,
  holdings,
  ownershipInWords,
  ownershipLanes,
  serviceLanes,
} from '../src/model/swimlanes.ts';
import { adviceFor, presetOf } from '../src/model/wait-advice.ts';
import { layoutWaits } from '../src/model/waits-layout.ts';
import { readWhatIfSearch } from '../src/pages/what-if/what-if-search.ts';
import { contended, pointWithWaits } from './fixtures/activity.ts';
import { overThreads } from './fixtures/points.ts';
import { program } from './fixtures/program.ts';

const groups = activityGroups(contended, { sweep: overThreads, program });

describe('active sessions of a point', () => {
  test('are the waits over the measured time, and the CPU and ready shares of as many sessions as there are', () => {
    const at = activityOf(pointWithWaits({ lock: 14, sync: 2, idle: 4, onCpu: 1, ready: 3 }));
    expect(at.activities.map(({ name, sessions }) => [name, Math.round(sessions * 100) / 100])).toEqual([
      ['write lock', 14],
      ['ready, waiting for a core', 3],
      ['log file sync', 2],
      ['on CPU', 1],
    ]);
    expect(at.sessions).toBeCloseTo(20);
    expect(at.idleSessions).toBeCloseTo(4);
  });

  test('without a time book are its waits and the cores that its processes kept busy', () => {
    const point = pointWithWaits({ lock: 3 });
    const { timeWaiting: _a, timeIdle: _b, timeOnCpu: _c, timeRunnable: _d, ...figures } = point.figures;
    const at = activityOf({ ...point, figures });
    expect(at.activities.map(({ name }) => name)).toEqual(['write lock', 'on CPU']);
    expect(at.activities[1]!.sessions).toBe(0.5);
  });

  test('are without a number of busy cores where the program measures none', () => {
    const point = pointWithWaits({ lock: 3, onCpu: 1 });
    const at = activityOf({ ...point, byInstance: {} });
    expect(at.coresBusy).toBeNull();
    expect(activityOf(point).coresBusy).toBe(0.5);
  });

  test('are microseconds of a message by the rate', () => {
    expect(inUnit(10, 'us', 5_000)).toBe(2_000);
    expect(inUnit(10, 'us', 0)).toBe(0);
    expect(inUnit(10, 'sessions', 5_000)).toBe(10);
  });

  test('are grouped by what varies besides the axis, in the order of the axis', () => {
    expect(groups.map(({ title, points }) => [title, points.map(({ label }) => label)])).toEqual([
      ['sharded', ['1', '8', '32']],
      ['unsharded', ['1', '8', '32']],
    ]);
    expect(activityOrder(groups).map(({ name }) => name)).toEqual([
      'on CPU',
      'ready, waiting for a core',
      'write lock',
      'log file sync',
    ]);
  });

  test('in a sentence: where most sessions wait, and how busy the cores are', () => {
    const at = busiestPoint(groups)!;
    expect(whyInWords('unsharded', at, { cores: 2, format: (value) => value.toFixed(1) })).toBe(
      'unsharded, 32 threads: 62.0 of 64.0 active sessions are in write lock. 0.5 of 2 cores are busy.',
    );
  });
});

test('the change between two points adds up, largest first, and says so with signs', () => {
  const [, unsharded] = groups;
  const [one, , many] = unsharded!.points;
  const change = activityChange(one!, many!)!;
  const sum = change.steps.reduce((total, { fromUs, toUs }) => total + toUs - fromUs, 0);
  expect(sum).toBeCloseTo(change.toUs - change.fromUs);
  expect(change.steps[0]!.name).toBe('write lock');
  expect(changeInWords(change, 1)).toBe('+12.4\u202fms write lock a message');
  expect(changeInWords(activityChange(one!, one!)!)).toBe('No change');
  expect(activityChange(one!, { ...many!, messagesPerSec: 0 })).toBeNull();
});

test('differences carry their sign', () => {
  expect([74, -3, 0, -1_200].map(formatUsShort)).toEqual([
    '+74\u202fµs',
    '−3\u202fµs',
    '±0 µs',
    '−1.2\u202fms',
  ]);
  expect([1.12, 0.966, 1].map(formatRatioChange)).toEqual(['+12\u202f%', '−3.4\u202f%', '±0.0\u202f%']);
});

test('advice names changes of the point only where the model knows the program', () => {
  const point = contended[0]!;
  expect(adviceFor('log file sync', point).map(({ change }) => change)).toEqual([
    { syncUs: 20 },
    { operations: 100 },
  ]);
  expect(adviceFor('on CPU', { ...point, program: 'listen' })).toEqual([]);
  expect(adviceFor('no such event', point)).toEqual([]);
});

test('advice opens the model at its point: its workload, its threads, and the change', () => {
  const point = contended[0]!;
  const preset = presetOf(point, { operations: 100 });
  expect(preset.threads).toBe(point.params.threads);
  expect(preset.operations).toBe(100);
  expect(preset.instances).toBe(point.params.instances);
  expect(Object.keys(preset)).not.toContain('cores');
  expect(presetOf(point, { cores: 16 }).cores).toBe(16);
  expect(readWhatIfSearch({ ...preset })).toEqual(preset);
  const { threads: _threads, ...params } = point.params;
  expect(presetOf({ params }, {})).not.toHaveProperty('threads');
});

test('panels fill rows evenly and share one scale', () => {
  const panel = (title: string, value: number) => ({
    title,
    bars: [1, 2, 3].map((each) => ({ key: `${title}${each}`, label: '', segments: [{ name: 'a', value }] })),
  });
  const panels = ['a', 'b', 'c', 'd', 'e', 'f'].map((title, index) => panel(title, index + 1));
  const { panels: placed } = layoutWaits(panels, { width: 1_150, reference: 9 });
  expect(new Set(placed.map(({ top }) => top)).size).toBe(2);
  expect(placed.filter(({ top }) => top === 0)).toHaveLength(3);
  expect(new Set(placed.map(({ y }) => y.domain().join())).size).toBe(1);
  expect(placed[0]!.y.domain()[1]).toBeGreaterThanOrEqual(9);
  const narrow = layoutWaits(panels, { width: 300, reference: null });
  expect(narrow.panels.every(({ left }) => left === 0)).toBe(true);
  expect(narrow.panels.every(({ plotRight }) => plotRight <= 300)).toBe(true);
});

describe('histograms by powers of two', () => {
  test('are shares over the buckets in use', () => {
    expect(
      sharesOf([
        [0, 0, 1, 3],
        [0, 0, 0, 0, 5],
      ]),
    ).toEqual({
      first: 1,
      count: 5,
      shares: [
        [0, 0.25, 0.75, 0, 0],
        [0, 0, 0, 1, 0],
      ],
    });
    expect([[0, 0.25, 0.75], [0.5, 0.5], [0, 0], []].map(middleBucket)).toEqual([2, 0, null, null]);
    expect(sharesOf([[0]])).toEqual({ first: 0, count: 0, shares: [[]] });
  });

  test("take a document's counts from the value of their bucket", () => {
    expect(
      bucketsFrom([
        { from: 4, count: 7 },
        { from: 8, count: 2 },
      ]),
    ).toEqual([0, 0, 7, 2]);
    expect([0, 9, 10, 20].map(formatPowerNs)).toEqual(['1\u202fns', '512\u202fns', '1\u202fµs', '1\u202fms']);
  });
});

const span = (kind: string, calledUs: number, gotUs: number, endedUs: number) => ({
  kind,
  calledUs,
  gotUs,
  endedUs,
});

const herd: Swimlane[] = [
  { session: 9, outcome: 'posted', spans: [span('posted', 0, 0, 0), span('latch', 0, 1, 20)] },
  {
    session: 1,
    outcome: 'got the message',
    spans: [span('woken', 30, 30, 30), span('mutex', 40, 41, 140), span('dequeued', 200, 200, 200)],
  },
  {
    session: 2,
    outcome: 'woke for nothing',
    spans: [span('woken', 32, 32, 32), span('mutex', 45, 141, 180), span('found nothing', 190, 190, 190)],
  },
];

describe('swimlanes', () => {
  test('show a wait and a hold for each get, and who waited for whom', () => {
    const lanes = herdLanes(herd);
    expect(lanes[2]!.spans).toEqual([
      { from: 45, to: 141, tone: 'waits', name: 'waits for the mutex' },
      { from: 141, to: 180, tone: 'holds', name: 'holds the mutex' },
    ]);
    const during = holdings(lanes, 'mutex').find(({ fromUs }) => fromUs === 45)!;
    expect(during).toMatchObject({ holder: 'session 1', waiters: 1 });
    expect(herdInWords(herd)).toBe(
      '2 sessions woke, 1 for nothing, until 200\u202fµs after the post. The mutex was held for 138\u202fµs in all, and at most 1 waited for it at once.',
    );
  });

  test('of one session say that nobody waited, although a get takes time', () => {
    expect(herdInWords(herd.slice(0, 2))).toContain('nobody waited');
  });

  test('of a service show its owners by epoch and the gaps between them', () => {
    const lanes = ownershipLanes(
      [
        { instance: 2, epoch: 2, fromMs: 1_300, toMs: 3_000, ended: '' },
        { instance: 1, epoch: 1, fromMs: 0, toMs: 1_000, ended: 'killed' },
      ],
      [1, 2],
    );
    expect(lanes.map(({ label }) => label)).toEqual(['instance 1', 'instance 2', 'no owner']);
    expect(lanes[2]!.spans).toEqual([{ from: 1_000, to: 1_300, tone: 'gap', name: 'no owner' }]);
    expect(lanes[0]!.moments).toEqual([{ at: 1_000, tone: 'bad', name: 'killed' }]);
  });
});

test('epochs in lanes are owners of a service, and other lanes are none', () => {
  const lanes = serviceLanes([
    {
      session: 1,
      outcome: 'posted',
      spans: [span('epoch 1', 0, 0, 2_000_000), span('epoch 3', 0, 5_000_000, 9_000_000)],
    },
    { session: 2, outcome: 'posted', spans: [span('epoch 2', 2_000_000, 2_600_000, 5_000_000)] },
  ])!;
  expect(lanes[0]!.spans.map(({ name, from }) => [name, from])).toEqual([
    ['epoch 1', 0],
    ['epoch 3', 5_000],
  ]);
  expect(ownershipInWords(lanes)).toBe('3 owners in 9\u202fs; 1 gap, the longest 600\u202fms.');
  expect(serviceLanes(herd)).toBeNull();
});

test('a traced transaction is calls from whoever makes them, and states of the branches', () => {
  const lane = (name: string, calls: string[], states: string[] = []) => ({
    name,
    calls: calls.map((each, index) => ({ name: each, fromUs: index * 100, toUs: index * 100 + 50 })),
    states: states.map((each) => ({ name: each, fromUs: 10, toUs: 40, emulated: true })),
  });
  const lanes = [
    lane('coordinator', ['prepare phase']),
    lane('branch 1: session 1 on instance 1', ['start', 'prepare'], ['log file sync']),
  ];
  const diagram = sequenceOf(lanes);
  expect(diagram.participants.map(({ label }) => label)).toEqual(['coordinator', 'branch 1']);
  expect(diagram.calls.map(({ from, name, sentAt }) => [from, name, sentAt])).toEqual([
    ['coordinator', 'start', 0],
    ['coordinator', 'prepare', 100],
  ]);
  expect(sequenceTotals(diagram)).toEqual([{ event: 'log file sync', total: 30 }]);
  expect(sequenceOf(lanes.slice(1)).participants[0]!.label).toBe('application');
});

test('a sequence keeps its messages apart and in order, however short the time between them', () => {
  const call = (name: string, sentAt: number, answeredAt: number) => ({
    from: 'client',
    to: 'branch',
    name,
    sentAt,
    receivedAt: sentAt,
    answeredAt,
    returnedAt: answeredAt,
    answer: '',
  });
  const { rows, yOf } = layoutSequence(
    {
      participants: [],
      calls: [call('start', 0, 1), call('prepare', 2, 22_000)],
      intervals: [],
      unit: 'us',
    },
    { top: 0, pxMax: 300 },
  );
  expect(rows.map(({ kind, call: { name } }) => `${name} ${kind}`)).toEqual([
    'start call',
    'start answer',
    'prepare call',
    'prepare answer',
  ]);
  for (const [index, row] of rows.slice(1).entries())
    expect(row.y - rows[index]!.y).toBeGreaterThanOrEqual(rowMin);
  expect(yOf(11_000)).toBeGreaterThan(rows[2]!.y);
  expect(yOf(11_000)).toBeLessThan(rows[3]!.y);
});

describe('wait tables of sessions', () => {
  const columns = (...names: string[]) => names.map((name) => ({ name, title: name }));
  const runs = {
    id: 'runs',
    title: '',
    source: '',
    columns: columns(
      'run',
      'title',
      'transaction',
      'instances',
      'sessions',
      'preparedBy',
      'inserts',
      'elapsedS',
      'roundTrips',
      'cpuS',
      'syncMs',
    ),
    rows: [
      ['C2', 'on a disk', 'local', 2, 2, null, 2_000, 32.5, 4_013, 1.04, 28.8],
      ['C3', 'on an SSD', 'local', 2, 2, null, 2_000, 5.06, 4_014, 1.06, 0.72],
      ['C5', 'own', 'two-branches', 2, 2, 'own', 2_000, 35.3, 9_013, 4.77, 1.17],
    ],
  };
  const waits = {
    id: 'waits',
    title: '',
    source: '',
    columns: columns('run', 'event', 'waits', 'maxS', 'totalS'),
    rows: [
      ['C3', 'short', 3, 0, 0.01],
      ['C3', 'log file sync', 848, 0, 0.61],
      ['C5', 'DFS lock handle', 2_550, 1, 10.28],
    ],
  };
  const sync = { event: 'log file sync', waits: 4, maxMs: 9, totalMs: 30, emulated: true };
  const unnamed = { event: 'unnamed', waits: 2, maxMs: 1, totalMs: 2, emulated: false };
  const sessionWaits = [
    {
      session: 'session 1',
      elapsedMs: 50,
      cpuMs: 18,
      cpuOf: 'client' as const,
      instanceCpuMs: 20,
      calls: 120,
      roundTrips: 60,
      rows: [sync, unnamed],
    },
  ];
  const local = {
    transaction: 'local',
    instances: 2,
    sessions: 2,
    preparedBy: 'own',
    messagesPerSession: 60,
  };

  test('are beside those of the run of the document with the same parameters and the closest syncs', () => {
    const tables = sessionWaitTables({ sessionWaits, params: { ...local, syncMs: 0 } }, { runs, waits })!;
    expect(tables.here).toEqual([
      {
        title: 'session 1',
        transactions: 60,
        elapsedMs: 50,
        cpuMs: 18,
        cpuOf: 'client',
        instanceCpuMs: 20,
        roundTrips: 60,
        explained: 0.96, // without what is unnamed
        rows: [sync, unnamed],
      },
    ]);
    expect(tables.document).toMatchObject({
      title: 'C3: on an SSD',
      transactions: 1_000,
      elapsedMs: 5_060,
      cpuMs: 530,
      roundTrips: 2_007,
    });
    expect(tables.document!.rows.map(({ event, totalMs }) => [event, totalMs])).toEqual([
      ['log file sync', 610],
      ['short', 10],
    ]);
    const slow = sessionWaitTables({ sessionWaits, params: { ...local, syncMs: 21.6 } }, { runs, waits })!;
    expect(slow.document!.title).toBe('C2: on a disk');
  });

  test('say whose CPU it is', () => {
    const { here, document } = sessionWaitTables(
      { sessionWaits, params: { ...local, syncMs: 0 } },
      { runs, waits },
    )!;
    const words = [
      here[0]!,
      { ...here[0]!, cpuOf: 'client and engine' as const, instanceCpuMs: null },
      document!,
      { ...here[0]!, cpuOf: null, instanceCpuMs: null },
    ].map((table) => cpuInWords(table).replaceAll('\u202f', ' '));
    expect(words).toEqual([
      'CPU 18 ms of the client, 20 ms of the instances',
      'CPU 18 ms of the client and engine',
      'CPU 530 ms of its server process',
      'CPU 18 ms',
    ]);
  });

  test('stand alone where the document has no such run, and are missing where no session was traced', () => {
    const other = { ...local, transaction: 'two-branches', preparedBy: 'other', syncMs: 0 };
    expect(sessionWaitTables({ sessionWaits, params: other }, { runs, waits })!.document).toBeNull();
    expect(sessionWaitTables({ params: local }, { runs, waits })).toBeUndefined();
  });
});
