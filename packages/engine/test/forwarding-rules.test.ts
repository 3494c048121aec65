import { describe, expect, it } from 'vitest';
import {
  canDeliverLocally,
  type ForwardingCommand,
  type ForwardingState,
  forwardingLife,
  isUnconsumed,
  nextBatchSize,
} from '../src/model/forwarding-state.ts';
import { InvariantViolation } from '../src/model/invariant.ts';

const states: ForwardingState[] = [
  'closed',
  'open',
  'sending',
  'sendingMore',
  'consuming',
  'forwarded',
  'inDoubt',
];
const commands: ForwardingCommand[] = [
  'open',
  'close',
  'send',
  'accept',
  'refuse',
  'loseConnection',
  'consume',
  'finishDelivery',
];

/** Every legal pair of state and command, with the state that follows. */
const legal: Record<string, ForwardingState> = {
  'closed open': 'open',
  'open open': 'open',
  'open close': 'closed',
  'open send': 'sending',
  'sending accept': 'consuming',
  'sending refuse': 'open',
  'sending loseConnection': 'inDoubt',
  'sendingMore accept': 'consuming',
  'sendingMore refuse': 'forwarded',
  'sendingMore loseConnection': 'inDoubt',
  'consuming consume': 'forwarded',
  'forwarded send': 'sendingMore',
  'forwarded finishDelivery': 'open',
  'inDoubt accept': 'consuming',
  'inDoubt refuse': 'forwarded',
};

describe('a forwarding', () => {
  it.each(states.flatMap((state) => commands.map((command) => ({ state, command }))))(
    'that is $state: $command',
    ({ state, command }) => {
      const next = legal[`${state} ${command}`];
      if (next === undefined) expect(() => forwardingLife.next(state, command)).toThrow(InvariantViolation);
      else expect(forwardingLife.next(state, command)).toBe(next);
    },
  );

  it('has these states and commands, and no others', () => {
    expect(forwardingLife.states).toEqual(states);
    expect(forwardingLife.commands.sort()).toEqual([...commands].sort());
  });

  it('delivers locally only while no undelivered message can be at another instance', () => {
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

  it('is what is delivered within the target time', () => {
    expect(nextBatchSize(1_000, 100, sizes)).toBe(1_000);
    expect(nextBatchSize(1_000, 200, sizes)).toBe(500);
    expect(nextBatchSize(1_000, 60_000, sizes)).toBe(16);
  });
});
