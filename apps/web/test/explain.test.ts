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
import { adviceFor, presetOf } from '../src/model/wait-advice.ts';
import { layoutWaits } from '../src/model/waits-layout.ts';
import { readWhatIfSearch } from '../src/pages/what-if/what-if-search.ts';
import { contended, pointWithWaits } from './fixtures/activity.ts';
import { overThreads } from './fixtures/points.ts';
import { program } from './fixtures/program.ts';

const groups = activityGroups(contended, { sweep: overThreads, program });

describe('active sessions of a point', () => {
  test('are the waits divided by the measured time, and the shares on CPU and runnable times the number of sessions', () => {
    const at = activityOf(pointWithWaits({ lock: 14, sync: 2, idle: 4, onCpu: 1, ready: 3 }));
    expect(at.activities.map(({ name, sessions }) => [name, Math.round(sessions * 100) / 100])).toEqual([
      ['write lock', 14],
      ['runnable', 3],
      ['log file sync', 2],
      ['on CPU', 1],
    ]);
    expect(at.sessions).toBeCloseTo(20);
    expect(at.idleSessions).toBeCloseTo(4);
  });

  test('are its waits and the busy cores of its processes if there is no time book', () => {
    const point = pointWithWaits({ lock: 3 });
    const { timeWaiting: _a, timeIdle: _b, timeOnCpu: _c, timeRunnable: _d, ...figures } = point.figures;
    const at = activityOf({ ...point, figures });
    expect(at.activities.map(({ name }) => name)).toEqual(['write lock', 'on CPU']);
    expect(at.activities[1]!.sessions).toBe(0.5);
  });

  test('have no number of busy cores if the program does not measure it', () => {
    const point = pointWithWaits({ lock: 3, onCpu: 1 });
    const at = activityOf({ ...point, byInstance: {} });
    expect(at.coresBusy).toBeNull();
    expect(activityOf(point).coresBusy).toBe(0.5);
  });

  test('can be converted to microseconds per message with the rate', () => {
    expect(inUnit(10, 'us', 5_000)).toBe(2_000);
    expect(inUnit(10, 'us', 0)).toBe(0);
    expect(inUnit(10, 'sessions', 5_000)).toBe(10);
  });

  test('add up to the number of sessions also if repeats differ, since shares and waits are both averaged over repeats', () => {
    const made = pointWithWaits({ lock: 18, onCpu: 4, ready: 10 });
    const share = (name: string, repeats: number[]) => ({ ...made.figures[name]!, value: 0.9, repeats });
    const at = activityOf({
      ...made,
      // 32 sessions wait for 3/4 of the first repeat, and for 3/8 of the second one.
      repeats: [
        { ...made.repeats[0]!, measuredMs: 1_500 },
        { ...made.repeats[1]!, measuredMs: 500 },
      ],
      waits: made.waits.map((wait) => ({ ...wait, totalMs: 32 * (1_500 * 0.75 + 500 * 0.375) })),
      figures: {
        ...made.figures,
        timeWaiting: share('timeWaiting', [0.75, 0.375]),
        timeIdle: share('timeIdle', [0, 0]),
        timeOnCpu: share('timeOnCpu', [0.125, 0.125]),
        timeRunnable: share('timeRunnable', [0.125, 0.5]),
      },
    });
    expect(at.sessions).toBeCloseTo(32);
    expect(at.activities.find(({ name }) => name === 'on CPU')?.sessions).toBeCloseTo(4);
  });

  test('are grouped by the varied parameters other than the axis, in the order of the axis', () => {
    expect(groups.map(({ title, points }) => [title, points.map(({ label }) => label)])).toEqual([
      ['sharded', ['1', '8', '32']],
      ['unsharded', ['1', '8', '32']],
    ]);
    expect(groups.map(({ axisTitle }) => axisTitle)).toEqual(
      Array(2).fill('threads (n enqueuers and n dequeuers)'),
    );
    expect(activityOrder(groups).map(({ name }) => name)).toEqual([
      'on CPU',
      'runnable',
      'write lock',
      'log file sync',
    ]);
    const alone = activityOf(pointWithWaits({ lock: 14, onCpu: 1, ready: 3 }));
    expect(
      activityOrder([{ points: [alone] }]).map(({ name }) => name),
      'CPU has its strong colour whatever lasts longest',
    ).toEqual(['on CPU', 'runnable', 'write lock']);
  });

  test('are described in a sentence: where most sessions wait, and how busy the cores are', () => {
    const at = busiestPoint(groups)!;
    expect(whyInWords('unsharded', at, 2)).toBe(
      'unsharded, 32 threads: 62.00 of 64.00 active sessions are in write lock. 0.50 of 2 cores are busy.',
    );
  });
});

test('the steps of the change between two points add up, are sorted by size, and are described with signs', () => {
  const [, unsharded] = groups;
  const [one, , many] = unsharded!.points;
  const change = activityChange(one!, many!)!;
  const sum = change.steps.reduce((total, { fromUs, toUs }) => total + toUs - fromUs, 0);
  expect(sum).toBeCloseTo(change.toUs - change.fromUs);
  expect(change.steps[0]!.name).toBe('write lock');
  expect(changeInWords(change, 1)).toBe('Per message: +12.4\u202fms write lock');
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

test('advice includes changes of the point only if the model knows the program', () => {
  const point = contended[0]!;
  const at = { point, coresBusy: 1.9 };
  expect(adviceFor('log file sync', at, 2).map(({ change }) => change)).toEqual([
    { syncUs: 20 },
    { operations: 100 },
  ]);
  const ofProgram = (program: string) => ({ ...at, point: { ...point, program } });
  expect(adviceFor('on CPU', ofProgram('listen'), 2)).toEqual([{ text: 'More cores', change: null }]);
  expect(adviceFor('log file sync', ofProgram('xa'), 2)).toEqual([
    { text: 'A device that syncs faster', change: null },
  ]);
  expect(adviceFor('no such event', at, 2)).toEqual([]);
  const offered = (coresBusy: number) =>
    adviceFor('runnable', { point, coresBusy }, 2).map(({ text }) => text);
  expect(offered(1.9)).toContain('More cores');
  expect(offered(0.5)).toEqual(['Twice as many instances: 2']);
});

test('advice opens the model with the workload and the threads of its point, and the change', () => {
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
  const { panels: placed } = layoutWaits(panels, { width: 1_150, reference: 9, axisTitle: '' });
  expect(new Set(placed.map(({ top }) => top)).size).toBe(2);
  expect(placed.filter(({ top }) => top === 0)).toHaveLength(3);
  expect(new Set(placed.map(({ y }) => y.domain().join())).size).toBe(1);
  expect(placed[0]!.y.domain()[1]).toBeGreaterThanOrEqual(9);
  const narrow = layoutWaits(panels, { width: 300, reference: null, axisTitle: 'threads' });
  expect(narrow.panels.every(({ left }) => left === 0)).toBe(true);
  expect(narrow.panels.every(({ plotRight }) => plotRight <= 300)).toBe(true);
  expect(narrow.axisTitleEnd!.y).toBeGreaterThan(narrow.panels.at(-1)!.plotBottom + 24);
  expect(narrow.axisTitleEnd!.y).toBeLessThan(narrow.height);
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

  test("place a document's counts by the lower bound of their bucket", () => {
    expect(
      bucketsFrom([
        { from: 4, count: 7 },
        { from: 8, count: 2 },
      ]),
    ).toEqual([0, 0, 7, 2]);
    expect([0, 9, 10, 20].map(formatPowerNs)).toEqual(['1\u202fns', '512\u202fns', '1\u202fµs', '1\u202fms']);
  });
});
