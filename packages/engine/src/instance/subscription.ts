/**
 * Who dequeues from a queue on one instance: a topic has a subscription for each subscriber, a queue has one without a
 * name. It gathers the readers of all shards, and the calls that wait for messages.
 */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { Message, SubscriberInfo } from '../types.ts';
import type { ShardReader, TakeOptions } from './shard-reader.ts';
import { Waiters } from './waiters.ts';

/** Throws `OPTIONS_INVALID` unless a subscriber is named for a topic, and none for a queue. */
export function assertSubscriberFits({ name, type }: QueueRow, subscriber: string | undefined): void {
  if ((type === 'topic') === (subscriber !== undefined)) return;
  const sentence =
    type === 'topic' ? `${name} is a topic: name a subscriber` : `${name} is a queue: it has no subscribers`;
  throw new QueueError('OPTIONS_INVALID', { sentence });
}

/** A dequeue call: takes what is there for it; nothing leaves it waiting. */
export type TakeRequest = () => Message[];

export class Subscription {
  /** 0 for the one of a queue. */
  readonly id: number;
  readonly name: string | undefined;
  readonly durable: boolean;
  readonly waiters: Waiters<TakeRequest>;
  readonly readers: ShardReader[] = [];
  #turn = 0;

  constructor(of: { id: number; name: string | undefined; durable: boolean }, waits: WaitRecorder) {
    this.id = of.id;
    this.name = of.name;
    this.durable = of.durable;
    this.waiters = new Waiters(waits);
  }

  /** Takes messages from one shard after the other; each call starts at the next one, so that all are served. */
  take({ max, nextHoldNo, out }: TakeOptions): void {
    this.#turn += 1;
    let left = max;
    for (let i = 0; i < this.readers.length && left > 0; i += 1) {
      const reader = this.readers[(this.#turn + i) % this.readers.length]!;
      left -= reader.take({ max: left, nextHoldNo, out });
    }
  }

  /** Messages may be there: serves waiting calls in order until one gets nothing. */
  serve(): void {
    for (const waiter of this.waiters) {
      const messages = waiter.request();
      if (messages.length === 0) return;
      waiter.settle(messages);
    }
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    this.waiters.rejectAll(reason);
  }

  info(nowMs: number): SubscriberInfo {
    let backlog = 0;
    let held = 0;
    let oldestAtMs = nowMs;
    for (const reader of this.readers) {
      backlog += reader.backlog;
      held += reader.held;
      oldestAtMs = Math.min(oldestAtMs, reader.oldestReadyAtMs ?? nowMs);
    }
    const { name = '', durable } = this;
    return { name, durable, backlog, held, lagMs: nowMs - oldestAtMs };
  }
}
