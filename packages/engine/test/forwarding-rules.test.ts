import { describe, expect, it } from 'vitest';
import {
  deliversHere,
  isUnsettled,
  type LoanEvent,
  type LoanState,
  nextBatchSize,
  nextLoanState,
} from '../src/core/forwarding.ts';

const states: LoanState[] = ['home', 'open', 'sending', 'sendingOn', 'settling', 'away', 'asking'];
const events: LoanEvent[] = ['opened', 'closed', 'sent', 'taken', 'refused', 'lost', 'settled', 'delivered'];

/** All that may happen; every other pair is a bug. */
const legal: Record<string, LoanState> = {
  'home opened': 'open',
  'open opened': 'open',
  'open closed': 'home',
  'open sent': 'sending',
  'sending taken': 'settling',
  'sending refused': 'open',
  'sending lost': 'asking',
  'sendingOn taken': 'settling',
  'sendingOn refused': 'away',
  'sendingOn lost': 'asking',
  'settling settled': 'away',
  'away sent': 'sendingOn',
  'away delivered': 'open',
  'asking taken': 'settling',
  'asking refused': 'away',
};

describe('a loan', () => {
  it.each(states.flatMap((state) => events.map((event) => [state, event] as const)))(
    'that is %s: %s',
    (state, event) => {
      const next = legal[`${state} ${event}`];
      if (next === undefined) expect(() => nextLoanState(state, event)).toThrow(RangeError);
      else expect(nextLoanState(state, event)).toBe(next);
    },
  );

  it('delivers here only while nothing undelivered can be elsewhere', () => {
    expect(states.filter((state) => deliversHere(state, false))).toEqual(['home', 'open']);
    expect(states.filter((state) => deliversHere(state, true))).toEqual(['home']);
  });
});

describe('a batch', () => {
  it('is unsettled if its receiver knows of a later one than its giver has consumed', () => {
    expect(isUnsettled(0, 0)).toBe(false);
    expect(isUnsettled(8, 7)).toBe(true);
    expect(isUnsettled(7, 7)).toBe(false);
    expect(isUnsettled(6, 7)).toBe(false);
  });
});

describe('the size of the next batch', () => {
  const sizes = { min: 16, max: 4_096, aimMs: 100 };

  it('doubles at most, as long as batches are handed out quickly', () => {
    expect(nextBatchSize(16, 0, sizes)).toBe(32);
    expect(nextBatchSize(16, 50, sizes)).toBe(32);
    expect(nextBatchSize(4_000, 1, sizes)).toBe(4_096);
  });

  it('is what is handed out in the time aimed at', () => {
    expect(nextBatchSize(1_000, 100, sizes)).toBe(1_000);
    expect(nextBatchSize(1_000, 200, sizes)).toBe(500);
    expect(nextBatchSize(1_000, 60_000, sizes)).toBe(16);
  });
});
