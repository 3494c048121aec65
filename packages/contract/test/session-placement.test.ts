import { canBeSkewed, instanceOfThread, threadsByInstance } from '@shardlab/contract';
import { expect, test } from 'vitest';

test('even placement spreads threads evenly, with one more on the first instances if needed', () => {
  expect(threadsByInstance({ threads: 8, instances: 2 })).toEqual([4, 4]);
  expect(threadsByInstance({ threads: 5, instances: 3, placement: 'even' })).toEqual([2, 2, 1]);
});

test('skewed placement has three quarters of the threads on the first instance, and at least one on each other', () => {
  expect(threadsByInstance({ threads: 16, instances: 2, placement: 'skewed' })).toEqual([12, 4]);
  expect(threadsByInstance({ threads: 16, instances: 4, placement: 'skewed' })).toEqual([12, 2, 1, 1]);
  expect(threadsByInstance({ threads: 4, instances: 2, placement: 'skewed' })).toEqual([3, 1]);
  expect(canBeSkewed({ threads: 4, instances: 2 })).toBe(true);
  expect(canBeSkewed({ threads: 4, instances: 3 })).toBe(false);
  expect(canBeSkewed({ threads: 4, instances: 1 })).toBe(false);
});

test('the instance of each thread agrees with the number of threads of each instance', () => {
  for (const placement of ['even', 'skewed'] as const) {
    const placed = { threads: 21, instances: 4, placement };
    const counts = [0, 0, 0, 0];
    for (let thread = 0; thread < 21; thread++) counts[instanceOfThread(thread, placed) - 1]! += 1;
    expect(counts).toEqual(threadsByInstance(placed));
  }
});
