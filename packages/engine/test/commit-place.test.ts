/** Whether a process that only serves sessions commits groups on its session thread depends on how long commits took. */
import { expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { AdaptiveCommitPlacement } from '../src/storage/threads/commit-place.ts';

const { commitsMeasured, shortCommitMs, longCommitMs, commitStallMs } = limits;
/** How many of the measured commits are the slowest percent. */
const slowest = commitsMeasured / 100;

const recordMany = (placement: AdaptiveCommitPlacement, count: number, commitMs: number) => {
  for (let i = 0; i < count; i += 1) placement.record(commitMs);
};

function committingOnSessionThread(): AdaptiveCommitPlacement {
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

it('moves to the session thread if at most one commit in a hundred exceeds the lower threshold', () => {
  const placement = new AdaptiveCommitPlacement();
  recordMany(placement, slowest, shortCommitMs + 1);
  recordMany(placement, commitsMeasured - slowest, shortCommitMs);
  expect(placement.place).toBe('session thread');

  const slower = new AdaptiveCommitPlacement();
  recordMany(slower, slowest + 1, shortCommitMs + 1);
  recordMany(slower, commitsMeasured - slowest - 1, shortCommitMs);
  expect(slower.place).toBe('writer thread');
  slower.record(shortCommitMs); // The first slow commit is no longer among the measured ones.
  expect(slower.place).toBe('session thread');
});

it('stays on the session thread between the two thresholds', () => {
  const placement = committingOnSessionThread();
  recordMany(placement, 3 * commitsMeasured, longCommitMs);
  expect(placement.place).toBe('session thread');
});

it('leaves the session thread when more than one commit in a hundred exceeds the upper threshold', () => {
  const placement = committingOnSessionThread();
  recordMany(placement, slowest, longCommitMs + 1);
  expect(placement.place).toBe('session thread');
  placement.record(longCommitMs + 1);
  expect(placement.place).toBe('writer thread');
});

it('leaves the session thread after one commit that stalls it', () => {
  const placement = committingOnSessionThread();
  placement.record(commitStallMs);
  expect(placement.place).toBe('session thread');
  placement.record(commitStallMs + 1);
  expect(placement.place).toBe('writer thread');
});

it('starts a new measurement after each change', () => {
  const placement = committingOnSessionThread();
  placement.record(commitStallMs + 1);
  recordMany(placement, commitsMeasured - 1, 0);
  expect(placement.place).toBe('writer thread');
  placement.record(0);
  expect(placement.place).toBe('session thread');
  recordMany(placement, slowest, longCommitMs + 1); // Slow commits from before the changes are not added to these.
  expect(placement.place).toBe('session thread');
});
