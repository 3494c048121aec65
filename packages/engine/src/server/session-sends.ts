/**
 * The sends of one remote session's producers, one after the other for each. Most are one-way: the failure of such a send is
 * reported by the next one that is answered, and those in between are not enqueued, so that a producer's messages keep their order.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ProducerNumber, RequestNumber } from '../model/ids.ts';
import type { SessionImmediateCalls } from '../runtime/session-immediate-calls.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { protocolError } from '../wire/protocol.ts';
import { readEnqueue } from './read-operations.ts';
import { readRecords, validateRecords } from './received-records.ts';

interface Sends {
  /** Set while sends are under way, or wait for room. */
  last: Promise<void> | undefined;
  /** Failure of a one-way send, until it is reported. */
  failure: { error: unknown } | undefined;
  /** Number of sends that wait for an earlier one. */
  waiting: number;
}

export class SessionSends {
  readonly #calls: Pick<SessionImmediateCalls, 'send'>;
  readonly #byProducer = new Map<ProducerNumber, Sends>();
  readonly #ending = new AbortController();

  constructor(calls: Pick<SessionImmediateCalls, 'send'>) {
    this.#calls = calls;
  }

  /**
   * `request` is 0 for a one-way send. A send without a message only asks how those before ended. Resolves when all messages of its
   * producer are enqueued. Rejects with the first failure since the last answer, with `PRODUCERS_FULL`, and with
   * `PROTOCOL_INVALID`.
   */
  async handleRequest(request: RequestNumber, body: BodyReader): Promise<void> {
    const producer = body.u32();
    const sends = this.#sendsOf(producer, request);
    if (sends.waiting > limits.sendWindowMessagesMax)
      throw protocolError('A producer has more sends without an answer than a window has');
    sends.waiting += 1;
    const done = this.#follow(sends, body);
    sends.last = done;
    await done;
    sends.waiting -= 1;
    if (sends.last === done) sends.last = undefined;
    if (request === 0) return;
    const { failure } = sends;
    sends.failure = undefined;
    if (sends.waiting === 0) this.#byProducer.delete(producer);
    if (failure !== undefined) throw failure.error;
  }

  #sendsOf(producer: ProducerNumber, request: RequestNumber): Sends {
    let sends = this.#byProducer.get(producer);
    if (sends === undefined) {
      const { producersPerSessionMax } = limits;
      if (this.#byProducer.size >= producersPerSessionMax) {
        // Of a one-way send nobody would learn that it was not enqueued. No client of ours opens so many.
        if (request === 0) throw protocolError('A session has one-way sends of too many producers');
        throw new QueueError('PRODUCERS_FULL', { details: { producersPerSessionMax } });
      }
      sends = { last: undefined, failure: undefined, waiting: 0 };
      this.#byProducer.set(producer, sends);
    }
    return sends;
  }

  async #follow(sends: Sends, body: BodyReader): Promise<void> {
    if (sends.last !== undefined) await sends.last;
    if (sends.failure !== undefined || body.bytesLeft === 0) return;
    try {
      await this.#send(body);
    } catch (error) {
      if (error instanceof QueueError && error.code === 'PROTOCOL_INVALID') throw error;
      sends.failure = { error };
    }
  }

  #send(body: BodyReader): unknown {
    const blockMs = body.u32();
    if (blockMs > limits.waitMsMax) throw protocolError('A send waits too long for room');
    const { queue, records } = readEnqueue(body);
    const content = validateRecords(records).arePlain ? records : readRecords(records);
    return this.#calls.send(queue, content, { blockMs, signal: this.#ending.signal });
  }

  /** Ends sends that wait for room. Resolves when the other sends are enqueued. */
  async end(): Promise<void> {
    this.#ending.abort(new QueueError('SESSION_CLOSED'));
    await Promise.allSettled([...this.#byProducer.values()].map(({ last }) => last));
  }
}
