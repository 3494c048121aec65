/** The judges of the claims about Redis, buffered and persistent queues. */
import type { Params, Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';

const judge = (id: string, points: readonly Point[]) => bundledStudies.judge([id], points, { cores: 2 })[0]!;
const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };

function pointOf(program: string, system: string, params: Params, figures: Record<string, number[]>): Point {
  return {
    program,
    system,
    params,
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, repeats]) => [
        name,
        { value: repeats[0]!, unit: '', provenance: 'measured', repeats },
      ]),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: whole,
    repeats: [],
  };
}

const five = [1, 0.98, 1.02, 0.99, 1.01];

/** Points at three numbers of messages, each with other noise of 2 %. The rate is a power of the number, with exponent `slope`. */
function rateLine(
  system: string,
  perSec: number,
  { threads = 1, slope = 0, noise = five }: { threads?: number; slope?: number; noise?: number[] } = {},
): Point[] {
  return [1_000, 6_000, 36_000].map((messages, shift) => {
    const shifted = [...noise.slice(shift % noise.length), ...noise.slice(0, shift % noise.length)];
    const repeats = shifted.map((each) => perSec * each * (messages / 1_000) ** slope);
    const params = { messages, threads, queues: 1, payloadBytes: 512, schedule: 'enqueue-then-dequeue' };
    return pointOf('run-to-completion', system, params, { enqueuePerSec: repeats, dequeuePerSec: repeats });
  });
}

/** The rates of the document: Redis is fastest, then the buffered queue, which is 4.5 times as fast as the persistent one. */
const asInDocument = [
  ...rateLine('redis-snapshot', 20_000),
  ...rateLine('buffered', 9_000),
  ...rateLine('sharded', 2_000),
];

/** The points with their first repeats only, as in a quick run. */
const quick = (points: readonly Point[], repeats: number): Point[] =>
  points.map((point) => ({
    ...point,
    figures: Object.fromEntries(
      Object.entries(point.figures).map(([name, figure]) => [
        name,
        { ...figure, repeats: figure.repeats.slice(0, repeats) },
      ]),
    ),
  }));

describe('B1, the order of the rates', () => {
  it('holds where Redis is before buffered queues and these before persistent ones', () => {
    const result = judge('B1', asInDocument);
    expect(result).toMatchObject({ verdict: 'holds', value: 2.22, repeats: 5, provisional: false });
    expect(result.clauses).toHaveLength(4);
  });

  it('does not hold where a buffered queue is faster than Redis, and the reason has both rates', () => {
    const faster = [
      ...rateLine('redis-snapshot', 20_000),
      ...rateLine('buffered-remote', 40_000),
      ...rateLine('sharded-remote', 900),
    ];
    const result = judge('B1', faster);
    expect(result).toMatchObject({ verdict: 'does-not-hold', value: 0.5 });
    expect(result.reason).toContain('Enqueue: redis-snapshot is faster than buffered-remote');
    expect(result.reason).toContain('redis-snapshot 20,000/s, buffered-remote 40,000/s');
    expect(judge('B1', [...asInDocument, ...faster.slice(3)])).toMatchObject({ verdict: 'mixed' });
  });

  it('is inconclusive if systems differ by no more than the noise, or one is missing', () => {
    const close = [
      ...rateLine('redis-snapshot', 2_000),
      ...rateLine('buffered', 2_000, { noise: five.toReversed() }),
      ...rateLine('sharded', 500),
    ];
    expect(judge('B1', close).verdict).toBe('inconclusive');
    for (const missing of ['redis-snapshot', 'buffered', 'sharded'])
      expect(
        judge(
          'B1',
          asInDocument.filter(({ system }) => system !== missing),
        ),
      ).toMatchObject({ verdict: 'inconclusive', repeats: 0 });
  });

  it('is provisional after fewer than five trials, however many numbers of messages they have', () => {
    expect(judge('B1', quick(asInDocument, 2))).toMatchObject({
      verdict: 'holds',
      repeats: 2,
      provisional: true,
      interval: null,
    });
  });

  it('ignores points with several threads', () => {
    const points = asInDocument.map((point) => ({ ...point, params: { ...point.params, threads: 4 } }));
    expect(judge('B1', points).verdict).toBe('inconclusive');
  });
});

describe('B2, buffered over persistent', () => {
  const pair = (ratio: number) => [...rateLine('buffered', 1_000 * ratio), ...rateLine('sharded', 1_000)];

  it.each([
    [4.5, 'holds'],
    [3, 'does-not-hold'],
    [40, 'does-not-hold'],
  ])('%d times is a case of: %s', (ratio, verdict) => {
    expect(judge('B2', pair(ratio))).toMatchObject({ verdict, value: ratio });
  });

  it('is inconclusive if the interval contains a bound', () => {
    const persistent = rateLine('sharded', 1_000, { noise: five.toReversed() });
    const result = judge('B2', [...rateLine('buffered', 4_000), ...persistent]);
    expect(result).toMatchObject({ verdict: 'inconclusive', value: 4 });
  });

  it('needs five trials to tell 4.5 from 4 and from 5, and one to tell it from 40', () => {
    expect(judge('B2', quick(pair(4.5), 4)).verdict).toBe('inconclusive');
    expect(judge('B2', quick(pair(40), 1))).toMatchObject({ verdict: 'does-not-hold', provisional: true });
  });
});

describe('B3, the number of messages', () => {
  it('holds where all rates are flat', () => {
    const result = judge('B3', asInDocument);
    expect(result).toMatchObject({ verdict: 'holds', provisional: false });
    expect(result.clauses.map(({ interval }) => interval)).not.toContain(null);
  });

  it('does not hold if one system slows down, which the reason names; the null system does not count', () => {
    const falling = [...asInDocument, ...rateLine('unsharded', 9_000, { slope: -0.3 })];
    const result = judge('B3', falling);
    expect(result).toMatchObject({ verdict: 'does-not-hold', value: 0.34 });
    expect(result.reason).toContain('Unsharded: the enqueue rate hardly changes');
    const rising = [...asInDocument, ...rateLine('unsharded', 9_000, { slope: 0.3 })];
    expect(judge('B3', rising).verdict).toBe('does-not-hold');
    const nothing = [...asInDocument, ...rateLine('null', 9_000, { slope: -0.3 })];
    expect(judge('B3', nothing).verdict).toBe('holds');
  });

  it('is inconclusive if trials differ by more than the bar, or have only two numbers of messages', () => {
    const noisy = rateLine('sharded', 2_000, { noise: [1, 0.5, 1.6, 0.7, 1.3] });
    expect(judge('B3', noisy).verdict).toBe('inconclusive');
    const two = asInDocument.filter(({ params }) => params.messages !== 6_000);
    expect(judge('B3', two)).toMatchObject({ verdict: 'inconclusive', repeats: 0 });
  });

  it('can be refuted by few trials but not shown, since single trials differ by as much as the rate may change', () => {
    expect(judge('B3', quick(asInDocument, 1)).verdict).toBe('inconclusive');
    expect(judge('B3', quick(rateLine('sharded', 2_000, { slope: -0.3 }), 1)).verdict).toBe('does-not-hold');
  });
});

describe('B4, flow control', () => {
  const params = { messages: 12_000, messagesMax: 5_000, payloadBytes: 512 };
  const all = (count: number) => Array.from({ length: 5 }, () => count);
  const flow = (figures: Partial<Record<string, number[]>> = {}) =>
    pointOf('flow-control', 'buffered', params, {
      accepted: all(5_000),
      refused: all(7_000),
      delivered: all(5_000),
      acceptedAfterDrain: all(1),
      ...(figures as Record<string, number[]>),
    });
  /** Repeats of which one has this count: a single deviation is enough to refute the claim. */
  const once = (count: number, usual: number) => [...all(usual).slice(1), count];

  it('holds where exactly the threshold is accepted and all of it delivered', () => {
    const result = judge('B4', [flow()]);
    expect(result).toMatchObject({ verdict: 'holds', value: 0, interval: [0, 0], provisional: false });
    expect(result.reason).toContain('5,000 accepted, 7,000 refused, 5,000 delivered, 0 lost');
    expect(judge('B4', quick([flow()], 1))).toMatchObject({ verdict: 'holds', provisional: true });
  });

  it.each([
    ['more is accepted once', flow({ accepted: once(5_001, 5_000), refused: once(6_999, 7_000) })],
    ['all is accepted', flow({ accepted: all(12_000), refused: all(0), delivered: all(12_000) })],
    ['a delivery is missing', flow({ delivered: once(4_999, 5_000) })],
    ['it does not accept again', flow({ acceptedAfterDrain: once(0, 1) })],
    ['a message is lost', { ...flow(), integrity: { ...whole, lost: 1 } }],
    ['a message remains', { ...flow(), integrity: { ...whole, left: 1 } }],
  ])('does not hold where %s', (_, point) => {
    expect(judge('B4', [point])).toMatchObject({ verdict: 'does-not-hold' });
    expect(judge('B4', [flow(), point])).toMatchObject({ verdict: 'does-not-hold' });
  });

  it('is inconclusive without a point past the threshold, or without a count', () => {
    expect(judge('B4', [{ ...flow(), params: { ...params, messages: 4_000 } }]).verdict).toBe('inconclusive');
    expect(judge('B4', [{ ...flow(), system: 'redis-snapshot' }]).verdict).toBe('inconclusive');
    expect(judge('B4', [flow({ acceptedAfterDrain: [] })]).verdict).toBe('inconclusive');
  });
});
