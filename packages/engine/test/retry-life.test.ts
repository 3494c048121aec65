/** The life of a redelivery: every pair of state and command, and the rules that choose between them. */
import { describe, expect, it } from 'vitest';
import { InvariantViolation } from '../src/model/invariant.ts';
import {
  attemptsUsedUp,
  Retry,
  type RetryCommand,
  type RetryState,
  retryDelayOf,
  retryLife,
} from '../src/model/retry-life.ts';

const commandsTo: Record<RetryState, RetryCommand[]> = {
  decided: [],
  counting: ['count'],
  delayed: ['delay'],
  moving: ['move'],
  blocked: ['move', 'failMove'],
  returned: ['return'],
  moved: ['move', 'finishMove'],
};

function retryThatIs(state: RetryState): Retry<string, number> {
  const retry = new Retry('orders', [1]);
  for (const command of commandsTo[state]) retry.apply(command, () => expect.unreachable());
  expect(retry.state).toBe(state);
  return retry;
}

const pairs = retryLife.states.flatMap((state) =>
  retryLife.commands.map((command) => ({ state, command, next: retryLife.find(state, command) })),
);

describe('a retry', () => {
  it.each(pairs)('$state: $command leads to $next', ({ state, command, next }) => {
    const retry = retryThatIs(state);
    const violations: InvariantViolation[] = [];
    const apply = () => retry.apply(command, (violation) => violations.push(violation));
    if (next !== undefined) apply();
    else expect(apply).toThrow(InvariantViolation);
    expect(violations).toHaveLength(next === undefined ? 1 : 0);
    expect(retry.state).toBe(next ?? state);
  });

  it('ends in states from which no command leads', () => {
    for (const state of ['returned', 'moved'] as const)
      expect(pairs.filter((pair) => pair.state === state && pair.next !== undefined)).toEqual([]);
  });
});

describe('the rules of redelivery', () => {
  it('double the delay with each attempt, up to an hour', () => {
    const delays = [1, 2, 3, 20].map((attempts) => retryDelayOf({ retryDelayMs: 100 }, attempts));
    expect(delays).toEqual([100, 200, 400, 3_600_000]);
  });

  it('give the message of a failed consumer a back-off up to ten seconds, if its queue has no delay', () => {
    const how = { error: { name: 'Error', message: 'boom', stack: '' } };
    const delays = [1, 2, 3, 20].map((attempts) => retryDelayOf({ retryDelayMs: 0 }, attempts, how));
    expect(delays).toEqual([100, 200, 400, 10_000]);
    expect(retryDelayOf({ retryDelayMs: 7 }, 2, how)).toBe(14);
    expect(retryDelayOf({ retryDelayMs: 0 }, 2)).toBe(0);
  });

  it('take the delay that a consumer chose', () => {
    expect(retryDelayOf({ retryDelayMs: 100 }, 5, { delayMs: 0 })).toBe(0);
    expect(retryDelayOf({ retryDelayMs: 0 }, 5, { delayMs: 30 })).toBe(30);
  });

  it('count attempts as used up at the limit, and never if there is no limit', () => {
    expect([1, 2, 3].map((attempts) => attemptsUsedUp(attempts, 2))).toEqual([false, true, true]);
    expect(attemptsUsedUp(1_000_000, null)).toBe(false);
  });
});
