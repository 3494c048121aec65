/** Tables of states and commands, and the life of a partition tried pair by pair. */
import { describe, expect, it } from 'vitest';
import { InvariantViolation, ignoreViolation, stopOn } from '../../src/model/invariant.ts';
import { Partition, type PartitionState, partitionLife } from '../../src/model/partitions.ts';
import { TransitionTable } from '../../src/model/transition-table.ts';

describe('a transition table', () => {
  const door = new TransitionTable<'open' | 'shut', 'close' | 'unlock'>('a door', {
    open: { close: 'shut' },
    shut: {},
  });

  it('returns the next state, or an error that names the illegal command and the state', () => {
    expect(door.next('open', 'close')).toBe('shut');
    expect(door.find('shut', 'close')).toBeUndefined();
    expect(() => door.next('shut', 'close')).toThrow('a door that is shut cannot close');
    expect(() => door.next('shut', 'close')).toThrow(InvariantViolation);
  });

  it('lists its states, and the commands that are legal in any of them', () => {
    expect(door.states).toEqual(['open', 'shut']);
    expect(door.commands).toEqual(['close']);
  });
});

describe('an invariant', () => {
  const violation = new InvariantViolation('held is negative');

  it('ends the instance with an error that is not retryable', () => {
    expect(violation).toMatchObject({ code: 'INVARIANT_BROKEN', kind: 'bug', retryable: false });
    expect(violation.message).toContain('held is negative');
  });

  it('has stopped the instance before its error is thrown, so that code that catches it cannot continue', () => {
    const stopped: InvariantViolation[] = [];
    expect(() => stopOn(violation, (broken) => stopped.push(broken))).toThrow(violation);
    expect(stopped).toEqual([violation]);
  });

  it('is ignored by background work, which no caller waits for, but other errors are not', () => {
    ignoreViolation(violation);
    expect(() => ignoreViolation(new RangeError('out of range'))).toThrow(RangeError);
  });
});

/** A new partition is `filling`. It is `free` before and after its time in a log. */
function partitionThatIs(state: PartitionState): Partition {
  const partition = new Partition(1, 1);
  if (state === 'full') partition.apply('seal');
  if (state === 'damaged') partition.apply('damage');
  if (state === 'truncating' || state === 'free') partition.apply('truncate');
  if (state === 'free') partition.apply('release');
  expect(partition.state).toBe(state);
  return partition;
}

describe('the life of a partition', () => {
  const pairs = partitionLife.states.flatMap((state) =>
    partitionLife.commands.map((command) => ({ state, command, next: partitionLife.find(state, command) })),
  );

  it.each(pairs)('$state: $command leads to $next', ({ state, command, next }) => {
    const partition = partitionThatIs(state);
    if (next === undefined) {
      expect(() => partition.apply(command)).toThrow(InvariantViolation);
      expect(partition.state).toBe(state);
    } else {
      partition.apply(command);
      expect(partition.state).toBe(next);
    }
  });
});
