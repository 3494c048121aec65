/**
 * Who dequeues from a queue on one instance: a topic has a subscription for each subscriber, a queue has one without a
 * name. It gathers the readers of all shards, and the calls that wait for messages.
 */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { priorityOf } from '../core/shard-number.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { Message, SubscriberInfo } from '../types.ts';
import type { TakeOptions } from './hand-out.ts';
import type { ShardReader } from './shard-reader.ts';
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
  /** The same by priority, the most urgent first. */
  readonly #lanes: ShardReader[][] = [];
  #turn = 0;
  /** Those who wait have not all been asked: the rest are in the next turn of the event loop. */
  #serving = false;

  constructor(of: { id: number; name: string | undefined; durable: boolean }, waits: WaitRecorder) {
    this.id = of.id;
    this.name = of.name;
    this.durable = of.durable;
    this.waiters = new Waiters(waits);
  }

  add(reader: ShardReader): void {
    this.readers.push(reader);
    const priority = priorityOf(reader.shard.no);
    const lane = this.#lanes.find(([first]) => priorityOf(first!.shard.no) === priority);
    if (lane !== undefined) lane.push(reader);
    else {
      this.#lanes.push([reader]);
      this.#lanes.sort(([a], [b]) => priorityOf(b!.shard.no) - priorityOf(a!.shard.no));
    }
  }

  /**
   * Takes messages, the most urgent first, from one shard after the other; each call starts at the next one, so that all
   * are served. Returns how many.
   */
  take({ max, nextHoldNo, out }: TakeOptions): number {
    this.#turn += 1;
    let taken = 0;
    for (const lane of this.#lanes) {
      for (let i = 0; i < lane.length && taken < max; i += 1) {
        taken += lane[(this.#turn + i) % lane.length]!.take({ max: max - taken, nextHoldNo, out });
      }
      // Nothing less urgent goes while these are on their way from disk.
      if (taken < max && this.#lanes.length > 1 && lane.some((reader) => reader.mustRead)) return taken;
    }
    return taken;
  }

  /** Messages may be there: serves waiting calls in order until one gets nothing, some in each turn of the event loop. */
  serve(): void {
    if (!this.#serving) this.#serveSome();
  }

  readonly #serveSome = (): void => {
    this.#serving = false;
    let served = 0;
    for (const waiter of this.waiters) {
      if (served >= limits.wakeOperationsMax) {
        this.#serving = true;
        setImmediate(this.#serveSome);
        return;
      }
      const messages = waiter.request();
      if (messages.length === 0) return;
      served += messages.length;
      waiter.settle(messages);
    }
  };

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
