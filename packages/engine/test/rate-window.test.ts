/** Rates over a window, and the time until a draining queue is empty. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateDrain, RateWindow } from '../src/model/rate-window.ts';

const lengthMs = 5_000;
const zero = { in: 0, out: 0 };

describe('a window', () => {
  it('covers the time since it was opened, until that is its whole length', () => {
    const window = new RateWindow(0, zero, lengthMs);
    window.advance(1_000, { in: 10, out: 4 });
    expect(window.flow(2_000, { in: 20, out: 8 })).toEqual({ windowMs: 2_000, windowIn: 20, windowOut: 8 });
  });

  it('reads 0 after two window lengths without growth', () => {
    const window = new RateWindow(0, zero, lengthMs);
    for (let at = 1_000; at <= 11_000; at += 1_000) window.advance(at, { in: 7, out: 7 });
    expect(window.flow(11_000, { in: 7, out: 7 })).toMatchObject({ windowIn: 0, windowOut: 0 });
  });

  it('covers one to two window lengths, and counts exactly the growth within it', () => {
    const steps = fc.array(
      fc.record({ ms: fc.integer({ min: 1, max: 1_500 }), in: fc.nat(99), out: fc.nat(99) }),
      {
        minLength: 12,
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const window = new RateWindow(0, zero, lengthMs);
        const history = [{ at: 0, ...zero }];
        for (const step of all) {
          const { at, ...before } = history.at(-1)!;
          const now = { at: at + step.ms, in: before.in + step.in, out: before.out + step.out };
          history.push(now);
          window.advance(now.at, { in: now.in, out: now.out });
          const flow = window.flow(now.at, { in: now.in, out: now.out });
          const from = history.find(({ at: began }) => began === now.at - flow.windowMs)!;
          expect(flow).toMatchObject({ windowIn: now.in - from.in, windowOut: now.out - from.out });
          expect(flow.windowMs).toBeLessThan(2 * lengthMs + 1_500);
          if (now.at > 2 * lengthMs + 1_500) expect(flow.windowMs).toBeGreaterThanOrEqual(lengthMs);
        }
      }),
    );
  });

  it('reads 0, not less, when a counter falls', () => {
    const window = new RateWindow(0, { in: 5, out: 5 }, lengthMs);
    expect(window.flow(10, { in: 5, out: 3 })).toMatchObject({ windowOut: 0 });
  });
});

describe('the time until a queue is empty', () => {
  const flow = { windowMs: 2_000, windowIn: 100, windowOut: 300 };

  it('is the depth divided by the net rate', () => {
    expect(estimateDrain(500, flow)).toEqual({
      enqueuePerSec: 50,
      dequeuePerSec: 150,
      state: 'draining',
      drainMs: 5_000,
      drainMsWithoutEnqueues: (500 * 2_000) / 300,
    });
  });

  it.each([
    ['growing', 10, { windowMs: 1_000, windowIn: 9, windowOut: 8 }],
    ['steady', 10, { windowMs: 1_000, windowIn: 8, windowOut: 8 }],
    ['steady', 10, { windowMs: 0, windowIn: 0, windowOut: 0 }],
    ['empty', 0, flow],
  ] as const)('is null for a queue that is %s', (state, depth, lately) => {
    expect(estimateDrain(depth, lately)).toMatchObject({ state, drainMs: null });
  });
});
