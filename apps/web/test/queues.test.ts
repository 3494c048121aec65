import type { QueueInfo } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { withExceptionQueues } from '../src/model/queue-order.ts';
import { type WaitingIn, type WaitingMessage, whyWaiting } from '../src/model/why-waiting.ts';

const nowMs = new Date(2026, 10, 21, 12, 30, 0).getTime();
const plain: WaitingIn = { dequeueEnabled: true, attemptsMax: null, exceptionQueue: null };
const limited: WaitingIn = { dequeueEnabled: true, attemptsMax: 3, exceptionQueue: 'q.exceptions' };
const words = (message: WaitingMessage, queue: WaitingIn) =>
  whyWaiting(message, queue, nowMs).replaceAll(/[\u202f\u00a0]/g, ' ');

describe('why a message waits', () => {
  it.each<[string, WaitingMessage, WaitingIn]>([
    ['Ready: waiting for a consumer.', { state: 'ready', deliveryCount: 0 }, plain],
    [
      'Ready, but dequeue is stopped for this queue.',
      { state: 'ready', deliveryCount: 0 },
      { ...plain, dequeueEnabled: false },
    ],
    [
      'Returned after 2 of 3 attempts. Ready: waiting for a consumer.',
      { state: 'ready', deliveryCount: 2 },
      limited,
    ],
    [
      'Delivered and held until 12:30:40, in 40 s. If it is not consumed, it becomes ready again.',
      { state: 'held', deliveryCount: 1, untilMs: nowMs + 40_000 },
      plain,
    ],
    [
      'Delivered for the 22nd time and held. If it is not consumed, it becomes ready again.',
      { state: 'held', deliveryCount: 22 },
      plain,
    ],
    [
      'Delivered (attempt 3 of 3) and held. If it is not consumed, it moves to q.exceptions.',
      { state: 'held', deliveryCount: 3 },
      limited,
    ],
    [
      'Delivered and held. If it is not consumed, it becomes ready again.',
      { state: 'held', deliveryCount: 0 },
      limited,
    ],
    [
      'Delayed until 12:31:10, in 1 min 10 s.',
      { state: 'delayed', deliveryCount: 0, untilMs: nowMs + 70_000 },
      plain,
    ],
    [
      'Delayed until 23 Nov 2026, 12:30.',
      { state: 'delayed', deliveryCount: 0, untilMs: nowMs + 2 * 86_400_000 },
      plain,
    ],
    [
      'Returned after 1 attempt; delayed until 12:30:05, in 5 s.',
      { state: 'delayed', deliveryCount: 1, untilMs: nowMs + 5_000 },
      plain,
    ],
    [
      'Returned after 1 of 3 attempts; delayed until 12:29:59.',
      { state: 'delayed', deliveryCount: 1, untilMs: nowMs - 1_000 },
      limited,
    ],
    [
      'Moved here from orders: delivered 3 times without being consumed. Ready: waiting for a consumer.',
      {
        state: 'ready',
        deliveryCount: 0,
        properties: {
          'exception-queue-of': 'orders',
          'exception-reason': 'delivered 3 times without being consumed',
        },
      },
      plain,
    ],
  ])('%s', (sentence, message, queue) => {
    expect(words(message, queue)).toBe(sentence);
  });

  it('uses ordinal numbers', () => {
    const nth = (deliveryCount: number) => words({ state: 'held', deliveryCount }, plain).split(' ')[3];
    expect([2, 3, 4, 11, 12, 13, 21, 111, 102].map(nth)).toEqual([
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '13th',
      '21st',
      '111th',
      '102nd',
    ]);
  });
});

describe('the list of queues', () => {
  it('lists each exception queue after the queue that it belongs to', () => {
    const queue = (name: string, exceptionQueue: string | null = null) =>
      ({ name, exceptionQueue }) as QueueInfo;
    const listed = withExceptionQueues([
      queue('a.exceptions'),
      queue('b'),
      queue('a', 'a.exceptions'),
      queue('c', 'c.exceptions'),
    ]);
    expect(listed.map(({ queue: { name }, isException }) => `${isException ? '– ' : ''}${name}`)).toEqual([
      'b',
      'a',
      '– a.exceptions',
      'c',
    ]);
  });
});
