/**
 * The cursors of one subscriber over all logs of a queue on this instance, and the calls that wait for its messages. A
 * topic has a subscription for each subscriber; a queue has one, without a name.
 */
import type { QueueError, QueueErrorCode } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { WaitEvent } from '../api/waits.ts';
import type { DeliverOptions } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { priorityOfLog } from '../model/log-id.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { type WaiterPorts, Waiters, type WaitOptions } from './waiters.ts';

/** Delivers to a waiting call; an empty result leaves it waiting. */
export type TakeMessages = () => Message[];

/** `name` is undefined for the subscription of a queue. */
export interface SubscriberIdentity {
  id: number;
  name: string | undefined;
  durable: boolean;
}

export class Subscription {
  /** 0 for the subscription of a queue. */
  readonly id: number;
  readonly name: string | undefined;
  readonly durable: boolean;
  readonly #waits: WaitRecorder;
  readonly #ports: WaiterPorts;
  /** Made when the first call waits. */
  #waiters: Waiters<TakeMessages> | undefined;
  readonly cursors: SubscriberCursor[] = [];
  /** The same cursors by priority, the most urgent first. */
  readonly #lanes: SubscriberCursor[][] = [];
  #nextIndex = 0;
  /** The next waiting calls are served in the next turn of the event loop. */
  #serving = false;

  constructor({ id, name, durable }: SubscriberIdentity, waits: WaitRecorder, ports: WaiterPorts) {
    this.id = id;
    this.name = name;
    this.durable = durable;
    this.#waits = waits;
    this.#ports = ports;
  }

  add(cursor: SubscriberCursor): void {
    this.cursors.push(cursor);
    const priority = priorityOfLog(cursor.log.id);
    const lane = this.#lanes.find(([first]) => priorityOfLog(first!.log.id) === priority);
    if (lane !== undefined) lane.push(cursor);
    else {
      this.#lanes.push([cursor]);
      this.#lanes.sort(([a], [b]) => priorityOfLog(b!.log.id) - priorityOfLog(a!.log.id));
    }
  }

  /**
   * Delivers messages, the most urgent first, from one log after the other. Each call starts at another log, so that all
   * get their turn. Returns how many messages were delivered.
   */
  deliver({ max, nextHoldNumber, out }: DeliverOptions): number {
    this.#nextIndex += 1;
    let delivered = 0;
    for (const lane of this.#lanes) {
      for (let i = 0; i < lane.length && delivered < max; i += 1) {
        delivered += lane[(this.#nextIndex + i) % lane.length]!.deliver({
          max: max - delivered,
          nextHoldNumber,
          out,
        });
      }
      // Nothing less urgent is delivered while more urgent messages are read from disk.
      if (delivered < max && this.#lanes.length > 1 && lane.some((cursor) => cursor.needsRead))
        return delivered;
    }
    return delivered;
  }

  get hasWaiters(): boolean {
    return this.#waiters !== undefined && this.#waiters.size > 0;
  }

  /** Waits up to `waitMs` until `take` gets messages. */
  wait(take: TakeMessages, options: WaitOptions, event: WaitEvent): Promise<Message[]> {
    this.#waiters ??= new Waiters(this.#waits, this.#ports);
    return this.#waiters.wait(take, options, event);
  }

  /**
   * Messages may be ready: serves waiting calls in order until one gets nothing, a bounded number in each turn of the
   * event loop.
   */
  serve(): void {
    if (!this.#serving && this.#waiters !== undefined) this.#serveSome(this.#waiters);
  }

  #serveSome(waiters: Waiters<TakeMessages>): void {
    this.#serving = false;
    let served = 0;
    for (const waiter of waiters) {
      if (served >= limits.resumedOperationsPerTurnMax) {
        this.#serving = true;
        this.#ports.timers.nextTurn(() => this.#serveSome(waiters));
        return;
      }
      const messages = waiter.request();
      if (messages.length === 0) return;
      served += messages.length;
      waiter.finish(messages);
    }
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    this.#waiters?.rejectAll(reason);
  }
}
