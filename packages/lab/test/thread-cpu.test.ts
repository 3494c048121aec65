/** A measurement of a few milliseconds must return the CPU time that was used, not that of the kernel's last clock tick. */
import { expect, test } from 'vitest';
import { threadCpuUs } from '../src/meters/thread-cpu.ts';

test('CPU time increases between the ticks of the kernel', () => {
  const start = threadCpuUs();
  let last = start;
  let steps = 0;
  while (last - start < 40_000) {
    const now = threadCpuUs();
    if (now > last) steps += 1;
    last = now;
  }
  // With the ticks of the kernel there would be 10 steps at 250 a second, or 40 at 1,000 a second.
  expect(steps).toBeGreaterThan(200);
});
