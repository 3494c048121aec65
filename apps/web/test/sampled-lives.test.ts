import type { MessageEvent, SampledTrace } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { lifeLanes, livesAt, livesInWords, lostSentence, sampledLives } from '../src/model/sampled-lives.ts';

const startMs = 1_763_000_000_000;
const event = (
  kind: MessageEvent['event'],
  afterMs: number,
  more: Partial<MessageEvent> = {},
): MessageEvent => ({
  event: kind,
  atMs: startMs + afterMs,
  instance: 1,
  shard: 100,
  seq: 512,
  partition: 7,
  ...more,
});

function trace(id: string, events: MessageEvent[], changes: Partial<SampledTrace> = {}): SampledTrace {
  return {
    id,
    endToEndMs: null,
    coverage: 'complete',
    overwritten: 0,
    events,
    eventsLeftOut: 0,
    whereabouts: [],
    ...changes,
  };
}

const to = { session: '1.9' };

/** The trace of a message that waited for its consumer for `waitMs`, with 3 ms for everything else. */
const consumed = (id: string, waitMs: number) =>
  trace(
    id,
    [
      event('enqueued', 0),
      event('grouped', 1),
      event('committed', 2),
      event('cached', 2),
      event('delivered', 2 + waitMs, to),
      event('consumed', 3 + waitMs),
      event('truncated', 1_000),
    ],
    { endToEndMs: 3 + waitMs },
  );

const plain = (text: string) => text.replaceAll('\u202f', ' ');
const waiting = trace('100.5120', [event('enqueued', 0), event('grouped', 1), event('committed', 2)]);
const headless = trace('100.6144', [event('delivered', 0), event('consumed', 1)], { coverage: 'partial' });
const messages = [
  consumed('100.512', 1),
  waiting,
  consumed('100.1024', 9),
  headless,
  consumed('100.1536', 4),
];

describe('the messages of a trial', () => {
  it('are sorted by their durations, and the slowest, the middle and the fastest are named', () => {
    expect(sampledLives({ messages }).map(({ rank, label }) => [rank, plain(label)])).toEqual([
      ['slowest', 'Slowest, 12 ms'],
      ['middle', 'Middle, 7 ms'],
      ['fastest', 'Fastest, 4 ms'],
      [null, '100.5120, not consumed'],
      [null, '100.6144, begin missing'],
    ]);
    const ranks = (count: number) =>
      sampledLives({
        messages: Array.from({ length: count }, (_, index) => consumed(`100.${index}`, index + 1)),
      }).map(({ rank }) => rank);
    expect(ranks(1)).toEqual([null]);
    expect(ranks(2)).toEqual(['slowest', 'fastest']);
    expect(ranks(4)).toEqual(['slowest', null, 'middle', 'fastest']);
  });

  it('are described in a sentence, with what the slowest waited for longest', () => {
    expect(plain(livesInWords(sampledLives({ messages })))).toBe(
      'The slowest of 5 messages took 12 ms, one in the middle 7 ms, the fastest 4 ms. The slowest spent 9 ms of it waiting for a consumer.',
    );
    expect(livesInWords(sampledLives({ messages: [waiting] }))).toBe('1 message.');
  });

  it('include the number of messages that were chosen but could not be read, with the reason', () => {
    expect(lostSentence({ messages, lost: 0 })).toBe('');
    expect(lostSentence({ messages, lost: 1 })).toMatch(
      /^Of 1 message that was chosen too, nothing was left when it was read: .*, or its instance had ended\.$/,
    );
    expect(lostSentence({ messages: [], lost: 2 })).toMatch(
      /^Of 2 messages that were chosen, .* over theirs, /,
    );
  });
});

describe('the lanes', () => {
  const lanes = lifeLanes(sampledLives({ messages }));
  const spansOf = (events: MessageEvent[], changes: Partial<SampledTrace> = {}) =>
    lifeLanes(sampledLives({ messages: [trace('100.512', events, changes)] }))[0]!.spans.map(
      ({ from, to, name }) => [from, to, name],
    );

  it('have a span for each phase, from the enqueue to the consumption', () => {
    expect(lanes.map(({ label, outcome }) => [label, plain(outcome)])).toEqual([
      ['slowest', '12 ms'],
      ['middle', '7 ms'],
      ['fastest', '4 ms'],
      ['100.5120', 'not consumed'],
    ]);
    expect(lanes[0]!.spans.map(({ from, to, name }) => [from, to, name])).toEqual([
      [0, 1, 'waiting for its commit'],
      [1, 2, 'being written and synced'],
      [2, 11, 'waiting for a consumer'],
      [11, 12, 'with its consumer'],
    ]);
  });

  it('return to waiting when a message is returned, and show a consumer while at least one subscriber has it', () => {
    const redelivered = [
      event('enqueued', 0),
      event('committed', 1),
      event('delivered', 2, to),
      event('rolled-back', 3),
      event('returned', 3),
      event('delivered', 5, to),
      event('consumed', 6),
    ];
    expect(spansOf(redelivered, { endToEndMs: 6 })).toEqual([
      [0, 1, 'waiting for its commit'],
      [1, 2, 'waiting for a consumer'],
      [2, 3, 'with its consumer'],
      [3, 5, 'waiting for a consumer'],
      [5, 6, 'with its consumer'],
    ]);
    const ofTopic = [
      event('committed', 1),
      event('delivered', 2, { ...to, subscriber: 'audit' }),
      event('delivered', 3, { ...to, subscriber: 'billing' }),
      event('consumed', 4, { subscriber: 'audit' }),
      event('consumed', 6, { subscriber: 'billing' }),
    ];
    expect(spansOf([event('enqueued', 0), ...ofTopic], { endToEndMs: 6 }).slice(1)).toEqual([
      [1, 2, 'waiting for a consumer'],
      [2, 6, 'with its consumer'],
    ]);
  });

  it('follow a message to another instance, and end with its consumption there', () => {
    const forwarded = [
      event('enqueued', 0),
      event('committed', 1),
      event('delivered', 2),
      event('received', 3, { instance: 2, peer: 1 }),
      event('grouped', 4, { instance: 2 }),
      event('committed', 5, { instance: 2 }),
      event('delivered', 6, { ...to, instance: 2 }),
      event('forwarded', 6.5, { peer: 2 }),
      event('consumed', 7, { instance: 2 }),
      event('consumed', 9),
    ];
    expect(spansOf(forwarded, { endToEndMs: 7 }).slice(2)).toEqual([
      [2, 5, 'on its way to another instance'],
      [5, 6, 'waiting for a consumer'],
      [6, 7, 'with its consumer'],
    ]);
  });

  it('are described for a moment', () => {
    expect(plain(livesAt(lanes, 1.5))).toBe('1.5 ms after the enqueue: 4 being written and synced');
    expect(plain(livesAt(lanes, 6.5))).toBe(
      '6.5 ms after the enqueue: 1 waiting for a consumer, 1 with its consumer',
    );
    expect(plain(livesAt(lanes, 12))).toBe('12 ms after the enqueue: no later event');
  });
});
