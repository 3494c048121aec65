import type { MessageEvent, MessageWhereabouts } from '@shardlab/contract';
import { messageEventKinds } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import {
  coverageSentence,
  lifeSteps,
  recorderSentence,
  whereaboutsSentence,
} from '../src/model/message-life.ts';

const startMs = new Date(2026, 10, 21, 12, 30, 0).getTime();
const place = { instance: 1, shard: 100, seq: 57, partition: 7 };
const event = (
  kind: MessageEvent['event'],
  afterMs: number,
  more: Partial<MessageEvent> = {},
): MessageEvent => ({
  event: kind,
  atMs: startMs + afterMs,
  ...place,
  ...more,
});
const plain = (text: string) => text.replaceAll('\u202f', ' ');

describe('the life of a message', () => {
  it('has each event, its place if that changes, and what the message waited for in between', () => {
    const steps = lifeSteps([
      event('enqueued', 0, { session: '1.7' }),
      event('grouped', 2, { group: 812, others: 31 }),
      event('committed', 2.5, { group: 812, others: 31, writeMs: 0.42 }),
      event('cached', 2.5),
      event('delivered', 1_002.5, { session: '1.9', attempt: 1 }),
      event('rolled-back', 1_003, { session: '1.9' }),
      event('returned', 1_003, { attempt: 1 }),
      event('delivered', 1_004, { session: '1.9', attempt: 2 }),
      event('consumed', 1_010, { group: 813 }),
      event('forwarded', 1_011, { peer: 2, partition: null }),
      event('truncated', 1_012),
    ]);
    expect(
      steps.map(({ sentence, meanwhile, place: where, afterMs }) => [
        plain(sentence),
        meanwhile,
        where && plain(where),
        afterMs,
      ]),
    ).toEqual([
      ['Enqueued by session 1.7', undefined, 'instance 1, shard 100, number 57, partition 7', undefined],
      [
        'Numbered in group 812, with 31 others, and sent to the writer',
        'its session to commit, and the group to close',
        undefined,
        2,
      ],
      ['Committed in group 812, with 31 others, written in 420 µs', 'the write and its sync', undefined, 0.5],
      ['Cached in memory, to be delivered without a read', undefined, undefined, 0],
      ['Delivered to session 1.9', 'a consumer, and those before it', undefined, 1_000],
      ['Rolled back by session 1.9', 'its consumer', undefined, 0.5],
      ['Back in its queue, before later messages', undefined, undefined, 0],
      ['Redelivered to session 1.9, attempt 2', 'a consumer, and those before it', undefined, 1],
      ['Consumed in group 813', 'its consumer', undefined, 6],
      ['Forwarded to instance 2', undefined, 'instance 1, shard 100, number 57', 1],
      [
        'Partition 7 was truncated',
        'the other messages of its partition',
        'instance 1, shard 100, number 57, partition 7',
        1,
      ],
    ]);
    expect(steps.map(({ tone }) => tone).slice(0, 6)).toEqual([
      'plain',
      'plain',
      'good',
      'plain',
      'live',
      'finding',
    ]);
  });

  it('has a sentence for every kind of event', () => {
    for (const kind of messageEventKinds)
      expect(lifeSteps([event(kind, 0)])[0]!.sentence).toMatch(/^[A-Z]\w/);
  });
});

const at = { instance: 1 };

describe('why a message waits', () => {
  it.each<[string, MessageWhereabouts]>([
    [
      'Ready, but not at the head of its shard: 2 messages are delivered before it.',
      { ...at, state: 'ready', reason: 'behind-others', ahead: 2 },
    ],
    [
      'Ready and the next to be delivered of its shard, but no consumer asks for a message.',
      { ...at, state: 'ready', reason: 'no-consumer', ahead: 0 },
    ],
    [
      'Ready, but dequeue is stopped for this queue. 1 message is delivered before it.',
      { ...at, state: 'ready', reason: 'dequeue-stopped', ahead: 1 },
    ],
    [
      'In flight with session 1.9 since 12:30:00.000: its transaction is open.',
      { ...at, state: 'held', holder: 'transaction', session: '1.9', sinceMs: startMs },
    ],
    [
      'In flight: a timed hold until 12:30:01.000.',
      { ...at, state: 'held', holder: 'timed-hold', untilMs: startMs + 1_000 },
    ],
    ['Delayed until 12:30:00.000.', { ...at, state: 'delayed', reason: 'not-due', untilMs: startMs }],
    [
      'Nobody gets it any more: consumed, or moved elsewhere. Its partition is kept for message 100.3, which is not consumed.',
      { ...at, state: 'consumed', partition: 'waits', waitsFor: '100.3' },
    ],
  ])('%s', (sentence, where) => {
    expect(plain(whereaboutsSentence(where))).toBe(sentence);
  });
});

describe('the coverage of a trace', () => {
  const recorder = {
    instance: 1,
    traceEvery: 128,
    eventsMax: 32_768,
    events: 10,
    overwritten: 0,
    pending: 0,
  };

  it('is described with the possible reasons for missing events', () => {
    expect(coverageSentence({ coverage: 'complete', recorders: [recorder] })).toBe(
      'Recorded from its enqueue on.',
    );
    expect(coverageSentence({ coverage: 'none', recorders: [recorder] })).not.toContain('recorded over');
    expect(coverageSentence({ coverage: 'none', recorders: [{ ...recorder, overwritten: 1 }] })).toContain(
      'recorded over',
    );
    expect(coverageSentence({ coverage: 'partial', recorders: [recorder] })).toContain(
      'Its first events are missing',
    );
  });

  it('is described with the bounds of the recorders', () => {
    expect(recorderSentence([recorder])).toBe(
      'One message in 128 is traced, and others on request; the last 32,768 events of each instance are kept, in memory only. A restart forgets them.',
    );
    expect(recorderSentence([{ ...recorder, traceEvery: 0, overwritten: 1_200 }])).toBe(
      'Messages are traced only on request; the last 32,768 events of each instance are kept, in memory only, and 1,200 older ones were overwritten. A restart forgets them.',
    );
  });
});
