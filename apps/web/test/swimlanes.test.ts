import type { Swimlane } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import {
  herdInWords,
  herdLanes,
  holdings,
  ownershipInWords,
  ownershipLanes,
  serviceLanes,
} from '../src/model/swimlanes.ts';

const span = (kind: string, calledUs: number, gotUs: number, endedUs: number) => ({
  kind,
  calledUs,
  gotUs,
  endedUs,
});

const herd: Swimlane[] = [
  { session: 9, outcome: 'posted', spans: [span('posted', 0, 0, 0), span('latch', 0, 1, 20)] },
  {
    session: 1,
    outcome: 'got the message',
    spans: [span('woken', 30, 30, 30), span('mutex', 40, 41, 140), span('dequeued', 200, 200, 200)],
  },
  {
    session: 2,
    outcome: 'woke for nothing',
    spans: [span('woken', 32, 32, 32), span('mutex', 45, 141, 180), span('found nothing', 190, 190, 190)],
  },
];

describe('swimlanes', () => {
  test('show a wait and a hold for each get, and who waited for whom', () => {
    const lanes = herdLanes(herd);
    expect(lanes[2]!.spans).toEqual([
      { from: 45, to: 141, tone: 'waits', name: 'waits for the mutex' },
      { from: 141, to: 180, tone: 'holds', name: 'holds the mutex' },
    ]);
    const during = holdings(lanes, 'mutex').find(({ fromUs }) => fromUs === 45)!;
    expect(during).toMatchObject({ holder: 'session 1', waiters: 1 });
    expect(herdInWords(herd)).toBe(
      '2 sessions woke, 1 for nothing, until 190\u202fµs after the post. One got the message, 200\u202fµs after the post. The mutex was held for 138\u202fµs in all, and at most 1 waited for it at once.',
    );
  });

  test('of one session show that no session waited, although a get takes time', () => {
    expect(herdInWords(herd.slice(0, 2))).toContain('no session waited');
  });

  test('of a service show its owners by epoch and the gaps between them', () => {
    const lanes = ownershipLanes(
      [
        { instance: 2, epoch: 2, fromMs: 1_300, toMs: 3_000, ended: '' },
        { instance: 1, epoch: 1, fromMs: 0, toMs: 1_000, ended: 'killed' },
      ],
      [1, 2],
    );
    expect(lanes.map(({ label }) => label)).toEqual(['instance 1', 'instance 2', 'no owner']);
    expect(lanes[2]!.spans).toEqual([{ from: 1_000, to: 1_300, tone: 'gap', name: 'no owner' }]);
    expect(lanes[0]!.moments).toEqual([{ at: 1_000, tone: 'bad', name: 'killed' }]);
  });
});

test('lanes with epochs are owners of a service, and other lanes are not', () => {
  const lanes = serviceLanes([
    {
      session: 1,
      outcome: 'posted',
      spans: [span('epoch 1', 0, 0, 2_000_000), span('epoch 3', 0, 5_000_000, 9_000_000)],
    },
    { session: 2, outcome: 'posted', spans: [span('epoch 2', 2_000_000, 2_600_000, 5_000_000)] },
  ])!;
  expect(lanes[0]!.spans.map(({ name, from }) => [name, from])).toEqual([
    ['epoch 1', 0],
    ['epoch 3', 5_000],
  ]);
  expect(ownershipInWords(lanes)).toBe('3 owners in 9\u202fs; 1 gap, the longest 600\u202fms.');
  expect(serviceLanes(herd)).toBeNull();
});
