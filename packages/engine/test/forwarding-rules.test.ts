/** Rules that follow from the state of a forwarding. `forwarding-ledger.test.ts` tries its transitions. */
import { describe, expect, it } from 'vitest';
import {
  canDeliverLocally,
  forwardingLife,
  isUnconsumed,
  nextBatchSize,
} from '../src/model/forwarding-state.ts';

describe('a forwarding', () => {
  it('allows local delivery only while no undelivered message can be at another instance', () => {
    const { states } = forwardingLife;
    expect(states.filter((state) => canDeliverLocally(state, false))).toEqual(['closed', 'open']);
    expect(states.filter((state) => canDeliverLocally(state, true))).toEqual(['closed']);
  });
});

describe('a batch', () => {
  it('is unconsumed if its receiver has committed it and its sender has not marked it as moved', () => {
    expect(isUnconsumed(0, 0)).toBe(false);
    expect(isUnconsumed(8, 7)).toBe(true);
    expect(isUnconsumed(7, 7)).toBe(false);
    expect(isUnconsumed(6, 7)).toBe(false);
  });
});

describe('the size of the next batch', () => {
  const sizes = { min: 16, max: 4_096, targetMs: 100 };

  it('at most doubles while batches are delivered quickly', () => {
    expect(nextBatchSize(16, 0, sizes)).toBe(32);
    expect(nextBatchSize(16, 50, sizes)).toBe(32);
    expect(nextBatchSize(4_000, 1, sizes)).toBe(4_096);
  });

  it('is the number of messages that are delivered within the target time', () => {
    expect(nextBatchSize(1_000, 100, sizes)).toBe(1_000);
    expect(nextBatchSize(1_000, 200, sizes)).toBe(500);
    expect(nextBatchSize(1_000, 60_000, sizes)).toBe(16);
  });
});
