import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WaitRecorder, waitQuantileMs } from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';

const waitsOf = (recorder: WaitRecorder) =>
  recorder.snapshot().find((wait) => wait.event === 'log file sync')!;

describe('wait events', () => {
  it('count and add up', () => {
    const recorder = new WaitRecorder({ clock: nodePorts.clock });
    recorder.record('log file sync', 2);
    recorder.record('log file sync', 3);
    expect(waitsOf(recorder)).toMatchObject({ class: 'commit', emulated: false, waits: 2, totalMs: 5 });
    expect(recorder.snapshot().find((wait) => wait.event === 'client round trip')).toMatchObject({
      emulated: true,
    });
  });

  it('give a quantile within a bucket of the true one', () => {
    const ms = fc.double({ min: 0.002, max: 20_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(ms, { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (list, q) => {
          const recorder = new WaitRecorder({ clock: nodePorts.clock });
          for (const each of list) recorder.record('log file sync', each);
          const exact = [...list].sort((a, b) => a - b)[Math.ceil(list.length * q) - 1]!;
          const found = waitQuantileMs(waitsOf(recorder).buckets, q);
          expect(found).toBeGreaterThanOrEqual(exact * 0.999);
          expect(found).toBeLessThan(exact * 1.2);
        },
      ),
    );
  });

  it('have no quantile without waits', () => {
    expect(waitQuantileMs(waitsOf(new WaitRecorder({ clock: nodePorts.clock })).buckets, 0.99)).toBe(0);
  });
});
