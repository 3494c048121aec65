/** The memory of the trace is bounded, and counts the events that it has overwritten. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { TraceRing } from '../../src/model/trace-ring.ts';
import { ManualPorts } from '../support/manual-ports.ts';

const queue = 7;

function ringOf(eventsMax: number, traceEvery = 64) {
  const { clock } = new ManualPorts();
  const ring = new TraceRing({ instance: 1, clock, traceEvery, eventsMax });
  const push = (seq: number, event: Parameters<TraceRing['push']>[0] = 'committed', details = {}) =>
    ring.push(event, { queue, name: { logId: 100, seq }, logId: 100, seq, partition: 3 }, details);
  return { ring, push };
}

describe('the ring of events', () => {
  it('keeps the last events in order, and counts those that it has overwritten', () => {
    const { ring, push } = ringOf(4);
    for (let seq = 1; seq <= 6; seq += 1) push(seq);
    expect(ring).toMatchObject({ recorded: 6, overwritten: 2 });
    expect(ring.find(queue, { logId: 100, seq: 2 })).toEqual([]);
    expect(ring.find(queue, { logId: 100, seq: 3 })).toHaveLength(1);
    expect(ring.latest(queue, 10).map(({ seq }) => seq)).toEqual([6, 5, 4, 3]);
    expect(ring.latest(queue, 2).map(({ seq }) => seq)).toEqual([6, 5]);
    expect(ring.latest(queue + 1, 2)).toEqual([]);
  });

  it('returns every field as it was recorded, large numbers too', () => {
    const { ring } = ringOf(2);
    const seq = 5 * 2 ** 32 + 64;
    const details = {
      subscriber: 0,
      session: 4,
      attempt: 2,
      group: 3 * 2 ** 32 + 812,
      others: 31,
      amount: 1.5,
      atMs: 0.25,
    };
    ring.push(
      'consumed',
      { queue, name: { logId: 1_000_164, seq: 9 }, logId: 2_000_164, seq, partition: 100_000 },
      details,
    );
    expect(ring.find(queue, { logId: 1_000_164, seq: 9 })).toEqual([
      {
        event: 'consumed',
        queue,
        name: { logId: 1_000_164, seq: 9 },
        logId: 2_000_164,
        seq,
        partition: 100_000,
        ...details,
      },
    ]);
  });

  it('returns no details that an event does not have', () => {
    const { ring, push } = ringOf(2);
    push(1, 'lost');
    expect(ring.latest(queue, 1)).toMatchObject([
      { subscriber: -1, session: 0, attempt: 0, group: 0, others: 0, amount: 0 },
    ]);
  });

  it('forgets the oldest of the requested messages', () => {
    const { ring } = ringOf(2, 0);
    for (let seq = 1; seq <= limits.tracesRequestedMax + 1; seq += 1)
      ring.request(queue, { logId: 100, seq });
    expect(ring.traces(queue, { logId: 100, seq: 1 })).toBe(false);
    expect(ring.traces(queue, { logId: 100, seq: 2 })).toBe(true);
    expect(ring.traces(queue + 1, { logId: 100, seq: 2 })).toBe(false);
  });

  it('samples by the sequence number alone, and nothing at a rate of 0', () => {
    const sampled = (every: number) => (seq: number) =>
      ringOf(2, every).ring.traces(queue, { logId: 100, seq });
    expect([63, 64, 65, 128].filter(sampled(64))).toEqual([64, 128]);
    expect([63, 64, 65, 128].filter(sampled(0))).toEqual([]);
  });
});
