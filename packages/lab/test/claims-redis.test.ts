/** The judges of the claims about Redis, buffered and persistent queues. */
import type { Params, Point } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { judgeB4 } from '../src/studies/redis-benchmark/judges/flow-control.ts';
import { judgeB1, judgeB2, judgeB3 } from '../src/studies/redis-benchmark/judges/rates.ts';

const context = { cores: 2 };
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

/** Three numbers of messages, three repeats that differ by 2 %; `slope` bends the rate. */
function rateLine(
  system: string,
  perSec: number,
  { threads = 1, slope = 0, noise = [1, 0.98, 1.02] } = {},
): Point[] {
  return [1_000, 6_000, 36_000].map((messages) => {
    const repeats = noise.map((each) => perSec * each * (messages / 1_000) ** slope);
    const params = { messages, threads, queues: 1, payloadBytes: 512, schedule: 'enqueue-then-dequeue' };
    return pointOf('run-to-completion', system, params, { enqueuePerSec: repeats, dequeuePerSec: repeats });
  });
}

/** As in the document: Redis before buffered before persistent, the two queues 4.5 apart. */
const asInDocument = [
  ...rateLine('redis-snapshot', 20_000),
  ...rateLine('buffered', 9_000),
  ...rateLine('sharded', 2_000),
];

describe('B1, the order of the rates', () => {
  it('holds where Redis is before buffered queues and these before persistent ones', () => {
    expect(judgeB1(asInDocument, context)).toMatchObject({ verdict: 'holds', value: 2.22 });
  });

  it('does not hold where a buffered queue is faster than Redis, and the reason has both rates', () => {
    const points = [
      ...asInDocument,
      ...rateLine('buffered-remote', 40_000),
      ...rateLine('sharded-remote', 900),
    ];
    const judgement = judgeB1(points, context);
    expect(judgement).toMatchObject({ verdict: 'does-not-hold', value: 0.5 });
    expect(judgement.reason).toContain('redis-snapshot ÷ buffered-remote: 0.5 ×');
    expect(judgement.reason).toContain('buffered-remote 40,000/s');
  });

  it('is open where systems are within the noise, or one is missing', () => {
    const close = [
      ...rateLine('redis-snapshot', 2_000),
      ...rateLine('buffered', 2_000),
      ...rateLine('sharded', 500),
    ];
    expect(judgeB1(close, context).verdict).toBe('inconclusive');
    expect(judgeB1(rateLine('redis-snapshot', 2_000), context).verdict).toBe('inconclusive');
  });

  it('does not look at runs of many threads', () => {
    const points = asInDocument.map((point) => ({ ...point, params: { ...point.params, threads: 4 } }));
    expect(judgeB1(points, context).verdict).toBe('inconclusive');
  });
});

describe('B2, buffered over persistent', () => {
  it.each([
    [4.5, 'holds'],
    [3, 'does-not-hold'],
    [40, 'does-not-hold'],
  ])('%d times is a case of: %s', (ratio, verdict) => {
    const points = [...rateLine('buffered', 1_000 * ratio), ...rateLine('sharded', 1_000)];
    expect(judgeB2(points, context)).toMatchObject({ verdict, value: ratio });
  });

  it('is open where the interval contains a bound', () => {
    const noise = [1.02, 1, 0.98];
    const points = [...rateLine('buffered', 4_000), ...rateLine('sharded', 1_000, { noise })];
    expect(judgeB2(points, context)).toMatchObject({ verdict: 'inconclusive', value: 4 });
  });
});

describe('B3, the number of messages', () => {
  it('holds where all rates are flat', () => {
    expect(judgeB3(asInDocument, context)).toMatchObject({ verdict: 'holds' });
  });

  it('does not hold where one system slows down, which the reason names; the null system does not count', () => {
    const falling = [...asInDocument, ...rateLine('unsharded', 9_000, { slope: -0.3 })];
    const judgement = judgeB3(falling, context);
    expect(judgement).toMatchObject({ verdict: 'does-not-hold', value: 0.34 });
    expect(judgement.reason).toContain('Does not hold: unsharded, enqueue: 0.34 ×');
    const nothing = [...asInDocument, ...rateLine('null', 9_000, { slope: -0.3 })];
    expect(judgeB3(nothing, context).verdict).toBe('holds');
  });

  it('needs three numbers of messages', () => {
    const two = asInDocument.filter(({ params }) => params.messages !== 6_000);
    expect(judgeB3(two, context).verdict).toBe('inconclusive');
  });
});

describe('B4, flow control', () => {
  const params = { messages: 12_000, messagesMax: 5_000, payloadBytes: 512 };
  const flow = (figures: Partial<Record<string, number[]>> = {}) =>
    pointOf('flow-control', 'buffered', params, {
      accepted: [5_000, 5_000],
      refused: [7_000, 7_000],
      delivered: [5_000, 5_000],
      acceptedAfterDrain: [1, 1],
      ...(figures as Record<string, number[]>),
    });

  it('holds where exactly the threshold is accepted and all of it delivered', () => {
    expect(judgeB4([flow()], context)).toMatchObject({ verdict: 'holds', value: 5_000 });
  });

  it.each([
    ['more is accepted once', flow({ accepted: [5_000, 5_001], refused: [7_000, 6_999] })],
    ['a delivery is missing', flow({ delivered: [4_999, 5_000] })],
    ['it does not accept again', flow({ acceptedAfterDrain: [1, 0] })],
    ['a message is lost', { ...flow(), integrity: { ...whole, lost: 1 } }],
    ['a message remains', { ...flow(), integrity: { ...whole, left: 1 } }],
  ])('does not hold where %s', (_, point) => {
    expect(judgeB4([point], context).verdict).toBe('does-not-hold');
  });

  it('is open without a point past the threshold', () => {
    expect(judgeB4([{ ...flow(), params: { ...params, messages: 4_000 } }], context).verdict).toBe(
      'inconclusive',
    );
    expect(judgeB4([{ ...flow(), system: 'redis-snapshot' }], context).verdict).toBe('inconclusive');
  });
});
