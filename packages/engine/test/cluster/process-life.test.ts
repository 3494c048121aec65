/** The states of a supervised process and the pauses between its restarts. */
import { describe, expect, it } from 'vitest';
import { InvariantViolation } from '../../src/model/invariant.ts';
import {
  canHost,
  type ProcessCommand,
  type ProcessState,
  processLife,
} from '../../src/model/process-life.ts';
import { RestartPolicy } from '../../src/model/restart-policy.ts';
import { SupervisedCase } from './virtual-cluster.ts';

/** Commands that bring a supervised process into each state. */
const commandsTo: Readonly<Record<ProcessState, readonly ProcessCommand[]>> = {
  stopped: [],
  starting: ['start'],
  running: ['start', 'open'],
  paused: ['start', 'open', 'pause'],
  stopping: ['start', 'open', 'stop'],
  killing: ['start', 'open', 'kill'],
  killed: ['start', 'open', 'kill', 'end'],
  backingOff: ['start', 'open', 'end'],
  givenUp: ['start', 'end', 'giveUp'],
};

const pairs = processLife.states.flatMap((state) =>
  processLife.commands.map((command) => ({ state, command, next: processLife.find(state, command) })),
);

describe('the life of an instance’s process', () => {
  it.each(pairs.filter(({ next }) => next !== undefined))('$state: $command leads to $next', async (pair) => {
    const subject = await SupervisedCase.create();
    for (const command of commandsTo[pair.state]) await subject.do(command);
    expect(subject.state).toBe(pair.state);
    await subject.do(pair.command);
    expect(subject.state).toBe(pair.next);
  });

  it.each(pairs.filter(({ next }) => next === undefined))('$state: $command is refused', async (pair) => {
    expect(() => processLife.next(pair.state, pair.command)).toThrow(InvariantViolation);
    const subject = await SupervisedCase.create();
    for (const command of commandsTo[pair.state]) await subject.do(command);
    await subject.attempt(pair.command);
    expect(subject.state).toBe(pair.state);
  });

  it('expects instances to be hosted by a process that runs, starts or will be restarted, and by no other', () => {
    expect(processLife.states.filter(canHost)).toEqual(['starting', 'running', 'backingOff']);
  });
});

describe('pauses before a restart', () => {
  const policy = () =>
    new RestartPolicy({
      healthyMs: 2_000,
      pauseMsMin: 100,
      failedStartPauseMsMax: 5_000,
      shortRunPauseMsMax: 1_000,
      failedStartsMax: 8,
      shortRunsMax: 32,
    });
  const pausesAfter = (ends: readonly (number | undefined)[]) => {
    const subject = policy();
    return ends.map((servedMs) => {
      subject.countEnd(servedMs);
      return subject.isExhausted ? 'exhausted' : subject.pauseMs;
    });
  };

  it('are zero after a healthy process', () => {
    expect(pausesAfter([2_000, 60_000, 2_000])).toEqual([0, 0, 0]);
  });

  it('double while processes fail to open their instance, until the policy is exhausted', () => {
    const ends = Array.from({ length: 8 }, () => undefined);
    expect(pausesAfter(ends)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 'exhausted']);
  });

  it('stay shorter after processes that served for a moment, which are restarted more often', () => {
    const pauses = pausesAfter(Array.from({ length: 32 }, () => 1_999));
    expect(pauses.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000]);
    expect(pauses.indexOf('exhausted')).toBe(31);
  });

  it('start over after a healthy process; an opened instance resets only the count of failed starts', () => {
    expect(pausesAfter([undefined, undefined, 10, undefined, 2_000, undefined])).toEqual([
      100, 200, 100, 200, 0, 100,
    ]);
    const subject = policy();
    subject.countEnd(undefined);
    subject.reset();
    expect([subject.attempts, subject.pauseMs]).toEqual([0, 0]);
  });
});
