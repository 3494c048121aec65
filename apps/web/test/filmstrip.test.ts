import type { Tick } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createFilmstripChart } from '../src/charts/filmstrip-chart.ts';
import { framesOf, momentsAt, positionOf, stepFrame, timeAt } from '../src/model/filmstrip.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

interface Trial {
  trial: number;
  system: string;
  threads: number;
  fromMs: number;
  perSec: number;
}

/** Five ticks of a trial: one of the warm-up, three measured, one of the drain. */
const ticksOf = ({ trial, system, threads, fromMs, perSec }: Trial): Tick[] =>
  (['warmup', 'measure', 'measure', 'measure', 'drain'] as const).map((phase, index) => ({
    atMs: fromMs + index * 250,
    trial,
    program: 'queue',
    system,
    params: { instances: 1, threads },
    phase,
    instances: [
      {
        instance: 1,
        spanMs: 250,
        enqueuePerSec: perSec,
        dequeuePerSec: phase === 'measure' ? perSec : 0,
        cpu: 0.5,
        latencyMs: { p50: 1, p99: 2 },
        waitMsByClass: {},
        shards: [],
      },
    ],
  }));

const trials: Trial[] = [
  { trial: 0, system: 'sharded', threads: 1, fromMs: 0, perSec: 1_000 },
  { trial: 1, system: 'unsharded', threads: 1, fromMs: 3_000, perSec: 500 },
  { trial: 2, system: 'sharded', threads: 8, fromMs: 6_000, perSec: 4_000 },
];
const ticks = trials.flatMap(ticksOf);
const frames = framesOf(ticks);
const systems = ['sharded', 'unsharded'];

test('a run has a frame for each trial, as high as its measured rate', () => {
  expect(frames.map(({ trial, system, perSec }) => [trial, system, perSec])).toEqual([
    [0, 'sharded', 1_000],
    [1, 'unsharded', 500],
    [2, 'sharded', 4_000],
  ]);
  expect(framesOf([])).toEqual([]);
});

test('a trial that is measured again has one frame, of its last attempt', () => {
  const again = ticksOf({ ...trials[0]!, fromMs: 1_500, perSec: 2_000 });
  const [frame] = framesOf([...ticksOf(trials[0]!), ...again]);
  expect(frame).toMatchObject({ fromMs: 1_500, perSec: 2_000 });
});

test('positions and times are each other’s inverse within frames', () => {
  for (const atMs of [0, 500, 3_250, 6_750])
    expect(timeAt(frames, positionOf(frames, atMs))).toBeCloseTo(atMs);
  expect(timeAt(frames, 0)).toBe(0);
  expect(timeAt(frames, 1)).toBeCloseTo(7_000, 0);
  expect(timeAt([], 0.5)).toBeNull();
  expect(positionOf(frames, 2_000), 'between two trials').toBeCloseTo(1 / 3);
});

test('the other system is shown with the same parameters, at the same time after the start of its own trial', () => {
  const [sharded, unsharded] = momentsAt(frames, {
    atMs: 3_500,
    isUnderWay: false,
    systems,
    fallback: null,
  });
  expect(unsharded).toMatchObject({ tick: { atMs: 3_500 }, isNow: false });
  expect(sharded).toMatchObject({ tick: { atMs: 500, params: { threads: 1 } } });
});

test('a run under way shows the present, without a system that is not measured yet with these parameters', () => {
  const [sharded, unsharded] = momentsAt(frames, { atMs: null, isUnderWay: true, systems, fallback: null });
  expect(sharded).toMatchObject({ tick: { atMs: 7_000 }, isNow: true });
  expect(unsharded).toBeNull();
});

test('a finished run shows the middle of the measured phase of the named point', () => {
  const fallback = { program: 'queue', params: { instances: 1, threads: 1 } };
  const [sharded, unsharded] = momentsAt(frames, { atMs: null, isUnderWay: false, systems, fallback });
  expect(unsharded).toMatchObject({ tick: { atMs: 3_500, phase: 'measure' }, isNow: false });
  expect(sharded).toMatchObject({ tick: { atMs: 500 } });
  expect(momentsAt([], { atMs: null, isUnderWay: true, systems, fallback })).toEqual([null, null]);
});

test('a finished run without frames of the named point shows the last one that both systems have', () => {
  const fallback = { program: 'queue', params: { instances: 4, threads: 64 } };
  const [sharded, unsharded] = momentsAt(frames, { atMs: null, isUnderWay: false, systems, fallback });
  expect(unsharded).toMatchObject({ tick: { atMs: 3_500 } });
  expect(sharded).toMatchObject({ tick: { atMs: 500 } });
});

test('a trial without ticks of its measured phase has the rate of its other ticks', () => {
  const [warmup] = ticksOf(trials[0]!);
  const kept = { ...warmup!, instances: warmup!.instances.map((of) => ({ ...of, dequeuePerSec: 700 })) };
  expect(framesOf([kept])).toMatchObject([{ perSec: 700 }]);
});

test('the filmstrip of a run under way, with trials to come', async () => {
  const element = svgElement();
  createFilmstripChart(element, { onScrub: () => {} }).update({
    width: 600,
    height: 40,
    frames,
    planned: 6,
    position: positionOf(frames, 3_500),
    selected: null,
    isUnderWay: true,
  });
  await expect(savedFile(element, 'Trials')).toMatchFileSnapshot('__svg__/filmstrip.svg');
});

test('keys step from trial to trial, to the middle of each measured phase, and stop at the ends', () => {
  const frames = framesOf(trials.flatMap(ticksOf));
  const middles = trials.map(({ fromMs }) => fromMs + 500);
  expect(stepFrame(frames, null, 1)).toBe(middles[0]);
  expect(stepFrame(frames, null, -1)).toBe(middles.at(-1));
  expect(stepFrame(frames, middles[0]!, 1)).toBe(middles[1]);
  expect(stepFrame(frames, middles[1]!, -1)).toBe(middles[0]);
  expect(stepFrame(frames, middles[0]!, -1)).toBe(middles[0]);
  expect(stepFrame(frames, middles[0]!, Number.POSITIVE_INFINITY)).toBe(middles.at(-1));
  expect(stepFrame(frames, middles.at(-1)!, Number.NEGATIVE_INFINITY)).toBe(middles[0]);
  expect(stepFrame([], 0, 1)).toBeNull();
});
