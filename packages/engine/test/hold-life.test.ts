/** Every pair of state and command of a timed hold, tried on the holds of a queue: it does what the table says, or refuses. */
import { describe, expect, it } from 'vitest';
import { type HoldCommand, type HoldState, holdLife } from '../src/model/hold-life.ts';
import { InvariantViolation } from '../src/model/invariant.ts';
import type { QueueRow } from '../src/model/queue-row.ts';
import { type TimedHold, TimedHolds } from '../src/queues/timed-holds.ts';
import { ManualPorts } from './support/manual-ports.ts';

const queue = { queueId: 1, name: 'orders' } as QueueRow;
const holdMs = 1_000;

interface Subject {
  ports: ManualPorts;
  holds: TimedHolds<string>;
  hold: TimedHold<string>;
  expired: TimedHold<string>[];
  violations: InvariantViolation[];
}

function newHold(): Subject {
  const ports = new ManualPorts();
  const expired: TimedHold<string>[] = [];
  const violations: InvariantViolation[] = [];
  const holds = new TimedHolds<string>({
    ports,
    onExpired: (ended) => expired.push(...ended),
    onInvariantBroken: (violation) => violations.push(violation),
  });
  const receipt = holds.add({ queue, delivery: 'a', name: '100.1.1.1' }, holdMs);
  const [hold] = holds.find(queue, [receipt]);
  return { ports, holds, hold: hold!, expired, violations };
}

const commands: Record<HoldCommand, (subject: Subject) => unknown> = {
  extend: ({ holds, hold }) => holds.extend(hold, holdMs),
  release: ({ holds, hold }) => holds.release(hold),
  expire: ({ ports }) => ports.advance(holdMs),
  stage: ({ holds, hold }) => holds.stage(hold),
  unstage: ({ holds, hold }) => holds.unstage(hold),
  settle: ({ holds, hold }) => holds.settle(hold),
  drop: ({ holds }) => holds.dropWhere(() => true),
};

const commandsTo: Record<HoldState, HoldCommand[]> = {
  held: [],
  staged: ['stage'],
  dropped: ['stage', 'drop'],
  ended: ['release'],
};

function holdThatIs(state: HoldState): Subject {
  const subject = newHold();
  for (const command of commandsTo[state]) commands[command](subject);
  expect(subject.hold.state).toBe(state);
  return subject;
}

/** These commands skip holds in a state where they are illegal, instead of failing. */
const ignoredWhereIllegal: readonly HoldCommand[] = ['expire', 'drop'];

const pairs = holdLife.states.flatMap((state) =>
  holdLife.commands.map((command) => ({ state, command, next: holdLife.find(state, command) })),
);

describe('a timed hold', () => {
  it('has each of its commands tried here', () => {
    expect(holdLife.commands.toSorted()).toEqual(Object.keys(commands).toSorted());
  });

  it.each(pairs.filter(({ next }) => next !== undefined))('$state: $command leads to $next', async (pair) => {
    const subject = holdThatIs(pair.state);
    await commands[pair.command](subject);
    expect(subject.hold.state).toBe(pair.next);
    expect(subject.violations).toEqual([]);
    expect(subject.expired).toEqual(pair.command === 'expire' ? [subject.hold] : []);
  });

  it.each(pairs.filter(({ next }) => next === undefined))('$state: $command is refused', async (pair) => {
    const subject = holdThatIs(pair.state);
    if (ignoredWhereIllegal.includes(pair.command)) await commands[pair.command](subject);
    else {
      expect(() => commands[pair.command](subject)).toThrow(InvariantViolation);
      expect(subject.violations).toHaveLength(1);
    }
    expect(subject.hold.state).toBe(pair.state);
    expect(subject.expired).toEqual([]);
  });

  it('is found by its receipt only while it is held', () => {
    for (const state of holdLife.states) {
      const { holds, hold } = holdThatIs(state);
      if (state === 'held') expect(holds.find(queue, [hold.receipt])).toEqual([hold]);
      else expect(() => holds.find(queue, [hold.receipt])).toThrow('The receipt is no longer valid');
    }
  });

  it('expires at once when a rollback returns it after its time has passed', async () => {
    const subject = holdThatIs('staged');
    await subject.ports.advance(2 * holdMs);
    subject.holds.unstage(subject.hold);
    await subject.ports.advance(1);
    expect(subject.expired).toEqual([subject.hold]);
  });

  it('leaves no timer behind when the instance closes, even if its transaction ends later', async () => {
    const { holds, hold, ports } = holdThatIs('staged');
    holds.close();
    holds.unstage(hold);
    expect([hold.state, ports.pendingTimers]).toEqual(['ended', 0]);
  });
});
