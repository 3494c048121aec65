/** When the groups of a process that only serves sessions are committed on its session thread, by how long commits took. */
import { expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { AdaptiveCommitPlacement } from '../src/storage/threads/commit-place.ts';

const { commitsMeasured, shortCommitMs, longCommitMs, commitStallMs } = limits;
/** So many of the measured ones are the slowest percent. */
const slowest = commitsMeasured / 100;

const recordMany = (placement: AdaptiveCommitPlacement, count: number, commitMs: number) => {
  for (let i = 0; i < count; i += 1) placement.record(commitMs);
};

function committingHere(): AdaptiveCommitPlacement {
  const placement = new AdaptiveCommitPlacement();
  recordMany(placement, commitsMeasured, shortCommitMs);
  expect(placement.place).toBe('session thread');
  return placement;
}

it('begins on the writer thread and stays there until enough commits are measured', () => {
  const placement = new AdaptiveCommitPlacement();
  recordMany(placement, commitsMeasured - 1, 0);
  expect(placement.place).toBe('writer thread');
  placement.record(0);
  expect(placement.place).toBe('session thread');
});

it('counts as short what exceeds the lower threshold no more often than once in a hundred', () => {
  const placement = new AdaptiveCommitPlacement();
  recordMany(placement, slowest, shortCommitMs + 1);
  recordMany(placement, commitsMeasured - slowest, shortCommitMs);
  expect(placement.place).toBe('session thread');

  const slower = new AdaptiveCommitPlacement();
  recordMany(slower, slowest + 1, shortCommitMs + 1);
  recordMany(slower, commitsMeasured - slowest - 1, shortCommitMs);
  expect(slower.place).toBe('writer thread');
  slower.record(shortCommitMs); // the first slow one is no longer among those that count
  expect(slower.place).toBe('session thread');
});

it('stays on the session thread between the two thresholds', () => {
  const placement = committingHere();
  recordMany(placement, 3 * commitsMeasured, longCommitMs);
  expect(placement.place).toBe('session thread');
});

it('leaves the session thread when more than one commit in a hundred exceeds the upper threshold', () => {
  const placement = committingHere();
  recordMany(placement, slowest, longCommitMs + 1);
  expect(placement.place).toBe('session thread');
  placement.record(longCommitMs + 1);
  expect(placement.place).toBe('writer thread');
});

it('leaves the session thread after one commit that stalls it', () => {
  const placement = committingHere();
  placement.record(commitStallMs);
  expect(placement.place).toBe('session thread');
  placement.record(commitStallMs + 1);
  expect(placement.place).toBe('writer thread');
});

it('measures anew after each change', () => {
  const placement = committingHere();
  placement.record(commitStallMs + 1);
  recordMany(placement, commitsMeasured - 1, 0);
  expect(placement.place).toBe('writer thread');
  placement.record(0);
  expect(placement.place).toBe('session thread');
  recordMany(placement, slowest, longCommitMs + 1); // slow ones of the turns before do not add up with these
  expect(placement.place).toBe('session thread');
});
