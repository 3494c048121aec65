import type { TimelineBin } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { type FaultedTrial, faultOutcomes } from '../src/programs/queue/trial/fault-outcomes.ts';
import type { FaultRecord } from '../src/programs/queue/trial/trial-cluster.ts';

/** The measured phase begins at 10,000 ms of the monotonic clock and lasts 5 s. */
const measureAtMs = 10_000;
const stopAtMs = 15_000;
const kill = (changes: Partial<FaultRecord> = {}): FaultRecord => ({
  fault: { kind: 'kill', instance: 2, atMs: 2_000 },
  atMs: 12_000,
  movedAtMs: 12_300,
  ...changes,
});
const still = { fromMs: 16_000, toMs: Number.POSITIVE_INFINITY };

/** The rates of two instances, each 1,000/s, except while the second one is gone. */
function timeline(gone: [fromMs: number, toMs: number]): TimelineBin[] {
  return [1, 2].flatMap((instance) =>
    Array.from({ length: 50 }, (_, index): TimelineBin => {
      const fromMs = index * 100;
      const isGone = instance === 2 && fromMs >= gone[0] && fromMs < gone[1];
      const rate = isGone ? 0 : 1_000;
      const latencyMs = { p50: 1, p99: 2 };
      return { instance, fromMs, toMs: fromMs + 100, enqueuePerSec: rate, dequeuePerSec: rate, latencyMs };
    }),
  );
}

const outcomes = (changes: Partial<FaultedTrial>) =>
  faultOutcomes({
    records: [kill()],
    gaps: [[still], [{ fromMs: 11_998, toMs: 12_400 }, still]],
    timeline: timeline([2_000, 2_400]),
    measureAtMs,
    stopAtMs,
    ...changes,
  });

test('an outage lasts from the fault to the next commit of the instance, and rates are totals of all instances', () => {
  expect(outcomes({})).toEqual([
    {
      kind: 'kill',
      instance: 2,
      atMs: 2_000,
      takeoverMs: 300,
      outageMs: 400,
      dequeuePerSec: { before: 2_000, during: 1_000, after: 2_000 },
    },
  ]);
});

test('an instance that is never served again has no takeover time and no outage time', () => {
  const gaps = [[still], [{ fromMs: 12_001, toMs: Number.POSITIVE_INFINITY }]];
  const [outcome] = outcomes({ records: [kill({ movedAtMs: null })], gaps });
  expect(outcome).toMatchObject({ takeoverMs: null, outageMs: null, dequeuePerSec: { before: 2_000 } });
});

test('the outage of a failback begins when the instance moves, long after its process was started', () => {
  const start = kill({ fault: { kind: 'start', instance: 2, atMs: 3_000 }, atMs: 13_000, movedAtMs: 13_700 });
  const gaps = [
    [still],
    [
      { fromMs: 11_998, toMs: 12_400 },
      { fromMs: 13_580, toMs: 13_720 },
      { fromMs: 14_600, toMs: 14_990 },
      still,
    ],
  ];
  const [killed, started] = outcomes({ records: [kill(), start], gaps });
  expect(killed!.outageMs).toBe(400);
  expect(killed!.dequeuePerSec.after).toBe(2_000);
  expect(started).toMatchObject({ takeoverMs: 700, outageMs: 140 });
});

test('a fault without a pause in service has an outage of 0 ms', () => {
  expect(outcomes({ gaps: [[still], [still]] })[0]!.outageMs).toBe(0);
});
