import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  commitWriteMs,
  logFileSync,
  registerCounter,
  registerWaitEvent,
  WaitRecorder,
  waitEvents,
  waitQuantileMs,
} from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';

const waitsOf = (recorder: WaitRecorder) =>
  recorder.snapshot().find((wait) => wait.event === 'log file sync')!;

describe('wait events', () => {
  it('are counted, and their times added up', () => {
    const recorder = new WaitRecorder({ clock: nodePorts.clock });
    recorder.record(logFileSync, 2);
    recorder.record(logFileSync, 3);
    expect(waitsOf(recorder)).toMatchObject({ class: 'commit', emulated: false, waits: 2, totalMs: 5 });
  });

  it('have quantiles that are within a bucket of the true ones', () => {
    const ms = fc.double({ min: 0.002, max: 20_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(ms, { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (list, q) => {
          const recorder = new WaitRecorder({ clock: nodePorts.clock });
          for (const each of list) recorder.record(logFileSync, each);
          const exact = [...list].sort((a, b) => a - b)[Math.ceil(list.length * q) - 1]!;
          const found = waitQuantileMs(waitsOf(recorder).buckets, q);
          expect(found).toBeGreaterThanOrEqual(exact * 0.999);
          expect(found).toBeLessThan(exact * 1.2);
        },
      ),
    );
  });

  it('have no quantiles before the first wait', () => {
    expect(waitQuantileMs(waitsOf(new WaitRecorder({ clock: nodePorts.clock })).buckets, 0.99)).toBe(0);
  });
});

describe('the registry', () => {
  const latch = {
    name: 'latch: test buffers',
    class: 'concurrency',
    about: 'a latch of this test',
  } as const;

  it('accepts events of a module that is loaded after the recorder was made, and counts their waits in the time book', () => {
    let nowMs = 0;
    const recorder = new WaitRecorder({ clock: { monotonicMs: () => nowMs } });
    const time = recorder.openSession();
    time.resume();
    const before = recorder.snapshot().length;
    const events = Array.from({ length: 20 }, (_, no) =>
      registerWaitEvent({ ...latch, name: `${latch.name} ${no}`, emulated: no === 19 }),
    );
    for (const event of events) {
      time.begin(event);
      time.suspend(undefined);
      nowMs += 3;
      time.end();
      time.resume();
    }
    expect(recorder.snapshot()).toHaveLength(before + 20);
    expect(recorder.snapshot().at(-1)).toMatchObject({
      event: 'latch: test buffers 19',
      class: 'concurrency',
      emulated: true,
      waits: 1,
      totalMs: 3,
    });
    expect(recorder.sessionTimes()).toMatchObject({ elapsedMs: 60, waitMs: 60, unnamedMs: 0 });
  });

  it('accepts the same event again, and refuses another event of the same name', () => {
    const event = registerWaitEvent(latch);
    expect(registerWaitEvent({ ...latch })).toBe(event);
    expect(waitEvents().filter(({ name }) => name === latch.name)).toEqual([event]);
    expect(() => registerWaitEvent({ ...latch, class: 'network' })).toThrow(RangeError);
  });

  it('recognizes an event or a counter of another copy of the engine by its name', () => {
    const recorder = new WaitRecorder({ clock: nodePorts.clock });
    recorder.record({ ...logFileSync, index: 0 }, 2);
    recorder.record({ ...logFileSync, index: 999 }, 3);
    expect(waitsOf(recorder)).toMatchObject({ waits: 2, totalMs: 5 });
    recorder.add({ ...commitWriteMs, index: 999 }, 4);
    expect(recorder.counters()).toMatchObject({ [commitWriteMs.name]: 4 });
  });

  it('has counters too, which a recorder shows as soon as they are registered', () => {
    const recorder = new WaitRecorder({ clock: nodePorts.clock });
    const info = { name: 'test spins', unit: 'spins', about: 'spins of this test' };
    const spins = registerCounter(info);
    expect(recorder.counters()).toMatchObject({ 'test spins': 0, 'log writes': 0 });
    recorder.add(spins, 2);
    recorder.add(registerCounter({ ...info }));
    expect(recorder.counters()).toMatchObject({ 'test spins': 3 });
    expect(() => registerCounter({ ...info, unit: 'turns' })).toThrow(RangeError);
  });
});
