/** Each kind of violation in the smallest history that has it, and legal histories that look similar. */
import { describe, expect, it } from 'vitest';
import { checkHistory, describeVerdict, type Operation, parseHistory } from '../src/index.ts';

/** The kinds of violation in a history of these operations, whose outcome is `ok` unless they give another. */
function kindsOf(...operations: object[]): string[] {
  const lines = operations.map((each) => `${JSON.stringify({ process: 'p', outcome: 'ok', ...each })}\n`);
  return checkHistory(parseHistory(lines.join(''))).violations.map(({ kind }) => kind);
}

const put = (id: string, start: number, ...messages: string[]) => ({
  id,
  type: 'transaction',
  session: 's',
  start,
  end: start + 1,
  enqueues: messages.map((message) => ({ queue: 'q', message, stream: 's' })),
});
const got = (id: string, start: number, ...messages: string[]) => ({
  id,
  type: 'delivery',
  queue: 'q',
  max: 9,
  start,
  end: start + 1,
  messages: messages.map((message) => ({ message })),
});
const consume = (id: string, start: number, delivery: string, ...messages: string[]) => ({
  id,
  type: 'transaction',
  session: 'c',
  start,
  end: start + 1,
  consumes: messages.map((message) => ({ delivery, queue: 'q', message })),
});
const inspect = (id: string, start: number, ...messages: string[]) => ({
  id,
  type: 'inspection',
  start,
  end: start + 1,
  contents: [{ queue: 'q', messages: messages.map((message) => ({ message })) }],
});
const ordered = { id: 'declared', type: 'queue', queue: 'q', start: 0, end: 0, ordered: true };
const kill = (start: number) => ({ id: `kill ${start}`, type: 'kill', start, end: start + 1 });
const unknown = { outcome: 'unknown', end: undefined };
const fail = { outcome: 'fail' };

describe('the checker', () => {
  it('finds nothing if each message is consumed or left', () => {
    expect(
      kindsOf(put('a', 1, 'x', 'y'), got('b', 3, 'x'), consume('c', 5, 'b', 'x'), inspect('d', 7, 'y')),
    ).toEqual([]);
  });

  it('finds a loss', () => {
    expect(kindsOf(put('a', 1, 'x'), inspect('d', 7))).toEqual(['loss']);
    expect(
      kindsOf(put('a', 1, 'x'), got('b', 3, 'x'), { ...consume('c', 5, 'b', 'x'), ...fail }, inspect('d', 7)),
    ).toEqual(['loss']);
  });

  it('finds an invention', () => {
    expect(kindsOf(got('b', 3, 'x'))).toEqual(['invention']);
    expect(kindsOf({ ...put('a', 1, 'x'), ...fail }, got('b', 3, 'x'))).toEqual(['invention']);
    expect(kindsOf(put('a', 5, 'x'), got('b', 3, 'x'))).toEqual(['invention']);
  });

  it('finds a second consumption, a delivery after it and one during a hold', () => {
    const before = [put('a', 1, 'x'), got('b', 3, 'x'), consume('c', 5, 'b', 'x')];
    expect(kindsOf(...before, got('d', 7, 'x'))).toEqual(['doubling']);
    expect(kindsOf(...before, kill(8), got('d', 10, 'x'))).toEqual(['doubling']);
    expect(kindsOf(...before, inspect('d', 7, 'x'))).toEqual(['doubling']);
    expect(kindsOf(put('a', 1, 'x'), got('b', 3, 'x'), got('d', 7, 'x'))).toEqual(['doubling']);
  });

  it('allows a redelivery after a rollback, a kill, an expired hold or a commit with an unknown outcome', () => {
    const first = [put('a', 1, 'x'), got('b', 3, 'x')];
    const later = [got('d', 20, 'x'), consume('e', 22, 'd', 'x'), inspect('f', 30)];
    expect(kindsOf(...first, { ...consume('c', 5, 'b', 'x'), ...fail }, ...later)).toEqual([]);
    expect(kindsOf(...first, { ...consume('c', 5, 'b', 'x'), ...unknown }, kill(10), ...later)).toEqual([]);
    expect(kindsOf(...first, kill(10), ...later)).toEqual([]);
    expect(kindsOf(put('a', 1, 'x'), { ...got('b', 3, 'x'), holdMs: 5e-6 }, ...later)).toEqual([]);
  });

  it('finds a consumption by a hold that had ended', () => {
    const lapsed = [put('a', 1, 'x'), { ...got('b', 3, 'x'), holdMs: 5e-6 }, got('d', 20, 'x')];
    expect(kindsOf(...lapsed, consume('e', 30, 'b', 'x'))).toEqual(['stale']);
    const released = {
      id: 'r',
      type: 'release',
      start: 5,
      end: 6,
      deliveries: [{ delivery: 'b', queue: 'q', message: 'x' }],
    };
    expect(kindsOf(put('a', 1, 'x'), got('b', 3, 'x'), released, consume('e', 30, 'b', 'x'))).toEqual([
      'stale',
    ]);
  });

  it('finds first deliveries and redeliveries out of order', () => {
    const two = [ordered, put('a', 1, 'x'), put('b', 3, 'y')];
    expect(kindsOf(...two, got('c', 5, 'x'), got('d', 7, 'y'))).toEqual([]);
    expect(kindsOf(...two, got('c', 5, 'y'), got('d', 7, 'x'))).toContain('order');
    expect(kindsOf(...two, inspect('c', 5, 'y', 'x'))).toEqual(['order']);
    const returned = { ...consume('r', 7, 'c', 'x'), ...fail };
    expect(kindsOf(...two, got('c', 5, 'x'), returned, got('d', 9, 'y'), got('e', 11, 'x'))).toEqual([
      'order',
    ]);
    expect(kindsOf(...two, got('c', 5, 'x'), returned, got('d', 9, 'x'), got('e', 11, 'y'))).toEqual([]);
  });

  it('does not find a message out of order if an unanswered dequeue may have received it before', () => {
    const two = [
      ordered,
      put('a', 1, 'x'),
      put('b', 3, 'y'),
      { ...got('c', 5), ...unknown, max: 1 },
      kill(8),
    ];
    expect(kindsOf(...two, got('d', 10, 'y'), got('e', 12, 'x'))).toEqual([]);
  });

  it('finds a message that is delivered before a more urgent one', () => {
    const lanes = { ...ordered, priorities: true };
    const urgent = { ...put('a', 1), enqueues: [{ queue: 'q', message: 'x', stream: 's', priority: 5 }] };
    expect(kindsOf(lanes, urgent, put('b', 3, 'y'), got('c', 5, 'y'), got('d', 7, 'x'))).toEqual(['order']);
    expect(
      kindsOf(lanes, put('b', 1, 'y'), { ...urgent, start: 4, end: 6 }, got('c', 5, 'y'), got('d', 7, 'x')),
    ).toEqual([]);
  });

  it('allows a transaction with an unknown outcome to have taken effect as a whole or not at all', () => {
    const open = {
      ...put('b', 5, 'y', 'z'),
      ...unknown,
      consumes: [{ delivery: 'g', queue: 'q', message: 'x' }],
    };
    const before = [put('a', 1, 'x'), got('g', 3, 'x'), open, kill(8)];
    expect(kindsOf(...before, inspect('i', 10, 'y', 'z'))).toEqual([]);
    expect(kindsOf(...before, inspect('i', 10, 'x'))).toEqual([]);
    expect(kindsOf(...before, inspect('i', 10, 'y'))).toEqual(['torn']);
    expect(kindsOf(...before, inspect('i', 10, 'x', 'y', 'z'))).toEqual(['torn']);
    expect(kindsOf(...before, inspect('i', 10))).toEqual(['torn']);
    expect(kindsOf(...before, got('d', 10, 'y'), consume('e', 12, 'd', 'y'), inspect('i', 14))).toEqual([
      'torn',
    ]);
  });

  it('finds branches of a global transaction that ended differently', () => {
    const branch = (id: string, message: string) => ({ ...put(id, 1, message), global: 'g' });
    expect(kindsOf(branch('a', 'x'), branch('b', 'y'))).toEqual([]);
    expect(kindsOf(branch('a', 'x'), { ...branch('b', 'y'), ...fail })).toEqual(['agreement']);
    expect(
      kindsOf({ ...branch('a', 'x'), ...unknown }, { ...branch('b', 'y'), ...fail }, inspect('i', 5)),
    ).toEqual([]);
    expect(kindsOf({ ...branch('a', 'x'), ...unknown }, branch('b', 'y'), inspect('i', 5, 'y'))).toEqual([
      'agreement',
    ]);
  });

  it('finds a message that appears after an inspection without it', () => {
    const open = { ...put('a', 1, 'x'), ...unknown };
    expect(kindsOf(open, inspect('i', 5), inspect('j', 9, 'x'))).toContain('doubling');
    expect(kindsOf(open, inspect('i', 5), got('d', 9, 'x'))).toContain('doubling');
  });

  it('judges each subscriber of a topic by itself', () => {
    const topic = { ...ordered, topic: true };
    const subscribe = (subscriber: string, start: number) => {
      return { id: subscriber, type: 'subscribe', queue: 'q', subscriber, start, end: start + 1 };
    };
    const contents = (...of: [string, string[]][]) => ({
      ...inspect('i', 20),
      contents: of.map(([subscriber, names]) => ({
        queue: 'q',
        subscriber,
        messages: names.map((message) => ({ message })),
      })),
    });
    const both = [topic, subscribe('e', 1), subscribe('w', 1), put('a', 5, 'x')];
    expect(kindsOf(...both, contents(['e', ['x']], ['w', ['x']]))).toEqual([]);
    expect(kindsOf(...both, contents(['e', ['x']], ['w', []]))).toEqual(['loss']);
    const late = [topic, subscribe('e', 1), put('a', 5, 'x'), subscribe('w', 9)];
    expect(kindsOf(...late, contents(['e', ['x']], ['w', []]))).toEqual([]);
    expect(kindsOf(...late, { ...got('d', 15, 'x'), subscriber: 'w' })).toEqual(['invention']);
  });

  it('finds a message in its queue and in the exception queue', () => {
    const declared = { ...ordered, ordered: false, exceptions: 'dead' };
    const moved = { ...got('b', 5, 'x'), queue: 'dead', holdMs: 1e-6 };
    expect(kindsOf(declared, put('a', 1, 'x'), moved)).toEqual([]);
    expect(kindsOf(declared, put('a', 1, 'x'), moved, got('c', 9, 'x'))).toEqual(['doubling']);
    expect(kindsOf(put('a', 1, 'x'), moved)).toEqual(['invention']);
  });

  it('finds two holders of a lease', () => {
    const lease = (id: string, start: number, end?: number) => {
      return { id, type: 'lease', resource: 'r', process: id, start, end, outcome: 'unknown' };
    };
    expect(kindsOf(lease('a', 1, 5), lease('b', 6, 9))).toEqual([]);
    expect(kindsOf(lease('a', 1, 5), lease('b', 4, 9))).toEqual(['exclusion']);
    expect(kindsOf(lease('a', 1), lease('b', 4, 9))).toEqual([]);
  });

  it('finds damage and early deliveries', () => {
    const enqueued = {
      ...put('a', 1),
      enqueues: [{ queue: 'q', message: 'x', digest: '1', notBefore: 9e6 }],
    };
    expect(kindsOf(enqueued, { ...got('b', 1e7), messages: [{ message: 'x', digest: '1' }] })).toEqual([]);
    expect(kindsOf(enqueued, { ...got('b', 1e7), messages: [{ message: 'x', digest: '2' }] })).toEqual([
      'damage',
    ]);
    expect(kindsOf(enqueued, { ...got('b', 3e6), messages: [{ message: 'x' }] })).toEqual(['early']);
    expect(kindsOf({ id: 'u', type: 'unreadable', queue: 'q', text: '…', start: 1, end: 1 })).toEqual([
      'damage',
    ]);
  });

  it('reports each contradiction with the operations that show it', () => {
    const operations = [
      put('a', 1, 'x'),
      got('b', 3, 'x'),
      consume('c', 5, 'b', 'x'),
      got('d', 7, 'x'),
      got('e', 9, 'z'),
    ].map((each) => ({
      process: 'p',
      outcome: 'ok',
      enqueues: [],
      consumes: [],
      ...each,
    })) as unknown as Operation[];
    const text = describeVerdict(checkHistory(operations));
    expect(text).toContain('ILLEGAL: invention 1, doubling 1');
    expect(text).toContain('invention: z is in q, and no client enqueued it\n');
    expect(text).toMatch(/e +ok +delivery from q: z/);
  });
});
