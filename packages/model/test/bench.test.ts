/** The smallest form of the bench: that it runs, never how fast. */
import { expect, test } from 'vitest';
import { benchModel } from '../bench/simulated-operations.ts';

test('the bench simulates each of its cases', () => {
  const lines = benchModel(2_000, 1);
  expect(lines.length).toBeGreaterThan(4);
  for (const { operationsPerSec, eventsPerSec } of lines) {
    expect(operationsPerSec).toBeGreaterThan(0);
    expect(eventsPerSec).toBeGreaterThan(0);
  }
});
