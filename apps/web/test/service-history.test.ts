/** The activations of a singleton service: their ends were recorded by the service, seen by the cluster, or are unknown. */
import type { ClusterEvent, ServiceTenure } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { serviceHistory } from '../src/model/service-history.ts';

const tenure = (
  number: number,
  { host, from, to = null }: { host: number; from: number; to?: number | null },
): ServiceTenure => ({
  number,
  epoch: number + 4,
  pid: 100 * host + number,
  host,
  activatedAtMs: 1_000_000 + from,
  deactivatedAtMs: to === null ? null : 1_000_000 + to,
});
const ended = (pid: number, at: number): ClusterEvent => ({
  type: 'process:ended',
  atMs: 1_000_000 + at,
  instance: 1,
  pid,
  signal: 'SIGKILL',
});

test('a service without activations has no history', () => {
  expect(serviceHistory({ history: [], status: 'activating' }, { events: [], nowMs: 5 })).toBeNull();
});

test('a gap lasts from the recorded or seen end of an activation to the next one', () => {
  const history = serviceHistory(
    {
      status: 'active',
      history: [
        tenure(1, { host: 1, from: 0, to: 2_000 }),
        tenure(2, { host: 2, from: 2_300 }),
        tenure(3, { host: 1, from: 6_000 }),
      ],
    },
    { events: [ended(202, 5_100), ended(999, 2_400)], nowMs: 1_010_000 },
  )!;
  expect(history).toMatchObject({ fromMs: 1_000_000, activations: 3, gaps: 2, longestGapMs: 900 });
  const [one, two, gaps] = history.lanes;
  expect(one!.spans.map(({ name, from, to }) => [name, from, to])).toEqual([
    ['epoch 5', 0, 2_000],
    ['epoch 7', 6_000, 10_000],
  ]);
  expect(two!.spans.map(({ name, from, to }) => [name, from, to])).toEqual([['epoch 6', 2_300, 5_100]]);
  expect(two!.moments).toMatchObject([{ at: 5_100, name: 'its process ended' }]);
  expect(gaps!.spans.map(({ from, to }) => [from, to])).toEqual([
    [2_000, 2_300],
    [5_100, 6_000],
  ]);
});

test('there is no gap after an unknown end, which is marked as such', () => {
  const history = serviceHistory(
    {
      status: 'unreachable',
      history: [tenure(1, { host: 1, from: 0 }), tenure(2, { host: 2, from: 4_000 })],
    },
    { events: [], nowMs: 1_005_000 },
  )!;
  expect(history.gaps).toBe(0);
  expect(history.lanes[0]!.moments).toMatchObject([{ at: 4_000, name: 'ended before, unknown when' }]);
  expect(history.lanes[1]!.moments).toMatchObject([{ at: 5_000, name: 'not active' }]);
});
