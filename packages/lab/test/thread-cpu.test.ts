/** That a measurement of a few milliseconds sees the time it took, not the kernel's last clock tick. */
import { expect, test } from 'vitest';
import { threadCpuUs } from '../src/meters/thread-cpu.ts';

test('CPU time moves on between the ticks of the kernel', () => {
  const start = threadCpuUs();
  let last = start;
  let steps = 0;
  while (last - start < 40_000) {
    const now = threadCpuUs();
    if (now > last) steps += 1;
    last = now;
  }
  // A kernel of 1,000 ticks a second would bring 40 steps, one of 250 brings 10.
  expect(steps).toBeGreaterThan(200);
});
