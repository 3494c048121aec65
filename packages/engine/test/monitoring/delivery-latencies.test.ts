/** The delivery latency in the statistics of a queue: how long messages waited for their first delivery. */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { latencyBucketOf, latencyQuantileMs, type QueueKind } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { DeliveryLatencies } from '../../src/queues/delivery-latencies.ts';
import { openTestInstance } from '../folder.ts';

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

describe('the buckets of latencies', () => {
  it('are within 19 % of the measured latency, from 1 ms to twelve days', () => {
    const ms = fc.double({ min: 1, max: 2 ** 30, noNaN: true });
    fc.assert(
      fc.property(ms, (latencyMs) => {
        const counts = [...Array.from({ length: latencyBucketOf(latencyMs) }, () => 0), 1];
        const shown = latencyQuantileMs(counts, 0.5)!;
        expect(shown).toBeGreaterThanOrEqual(latencyMs * 0.999_999);
        expect(shown).toBeLessThan(Math.max(1, latencyMs) * 1.19);
      }),
    );
    expect([-5, 0, 1].map(latencyBucketOf)).toEqual([0, 0, 0]);
    expect(latencyBucketOf(Number.MAX_VALUE)).toBe(120);
    expect(latencyQuantileMs([0, 0], 0.5)).toBeNull();
  });
});

describe('the sample of dequeue calls', () => {
  it('measures each call at a low rate and few at a high rate, and estimates the count of all', () => {
    const latencies = new DeliveryLatencies();
    const between = (calls: number) => {
      const before = sum(latencies.read());
      let measured = 0;
      for (let call = 0; call < calls; call += 1) {
        if (!latencies.isDue(1)) continue;
        latencies.add(0, 5);
        measured += 1;
      }
      return { measured, counted: sum(latencies.read()) - before };
    };
    expect(between(100)).toEqual({ measured: 100, counted: 100 });
    const busy = between(100_000);
    expect(busy.measured).toBeLessThan(1_300);
    expect(busy.counted).toBeGreaterThan(99_000);
    expect(busy.counted).toBeLessThan(101_000);
    expect(between(3), 'after a reading each is measured again').toEqual({ measured: 3, counted: 3 });
  });

  it('does not measure messages that were delivered before', () => {
    const latencies = new DeliveryLatencies();
    expect([latencies.isDue(2), latencies.isDue(1)]).toEqual([false, true]);
  });
});

describe.each<QueueKind>(['sharded', 'unsharded'])('the latency of a queue of kind %s', (kind) => {
  afterEach(() => void vi.restoreAllMocks());

  async function setUp() {
    let nowMs = Date.UTC(2026, 0, 1);
    vi.spyOn(nodePorts.clock, 'epochMs').mockImplementation(() => nowMs);
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', kind });
    expect(sum(instance.queueStats('q').deliveryLatency), 'it is measured from here on').toBe(0);
    const session = instance.openSession();
    const enqueue = async (payload: string) => {
      session.enqueue('q', { payload });
      await session.commit();
    };
    const dequeueAfter = async (ms: number) => {
      nowMs += ms;
      return session.dequeue('q', { max: 1, waitMs: 30_000 });
    };
    const p50 = () => latencyQuantileMs(instance.queueStats('q').deliveryLatency, 0.5);
    return { session, enqueue, dequeueAfter, p50 };
  }

  it('is the time from the enqueue of a message to its first delivery', async () => {
    const { session, enqueue, dequeueAfter, p50 } = await setUp();
    expect(p50()).toBeNull();
    await enqueue('a');
    await dequeueAfter(4_096);
    expect(p50()).toBe(4_096);
    await session.rollback();
    await dequeueAfter(1_000_000);
    expect(p50(), 'a second delivery is not counted').toBe(4_096);
    await session.commit();
  });
});
