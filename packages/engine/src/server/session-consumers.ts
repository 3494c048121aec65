/** The consumers of one remote session, by the numbers of the requests that opened them, and the requests about them. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { RequestNumber } from '../model/ids.ts';
import type { Ports } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { countsOnDelivery } from '../model/retry-life.ts';
import { validateHoldMs } from '../model/session-calls.ts';
import type { SessionPipeline } from '../runtime/session-pipeline.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { consumerModes, protocolError, requests, returnFromText } from '../wire/protocol.ts';
import { type ConsumerStream, ServerConsumer } from './server-consumer.ts';

export interface ConsumersSession {
  openPipeline(queue: string, subscriber: string | undefined): SessionPipeline;
}

export class SessionConsumers {
  readonly #session: ConsumersSession;
  readonly #ports: Pick<Ports, 'clock' | 'timers'>;
  readonly #consumers = new Map<RequestNumber, ServerConsumer>();
  /** Numbers up to this one may be those of consumers that are closed. */
  #lastNumber: RequestNumber = -1;
  #isEnded = false;

  constructor(session: ConsumersSession, ports: Pick<Ports, 'clock' | 'timers'>) {
    this.#session = session;
    this.#ports = ports;
  }

  /** A consumer is about to be opened: requests that name it may already be on their way. */
  announce(request: RequestNumber): void {
    this.#lastNumber = request;
  }

  /** `request` is the consumer's number from now on. Throws what opening a pipeline throws, and `PROTOCOL_INVALID`. */
  open(request: RequestNumber, body: BodyReader, stream: ConsumerStream): void {
    const messagesMaximum = body.u32();
    const mode = body.u8();
    const holdMs = validateHoldMs(body.u32());
    const queue = body.text();
    const subscriber = body.bytesLeft > 0 ? body.text() : undefined;
    body.assertEnd();
    if (messagesMaximum < 1 || messagesMaximum > limits.pipelineMessagesMax || this.#consumers.has(request))
      throw protocolError('The pipeline of a consumer is too large or open already');
    if (this.#isEnded) throw new QueueError('SESSION_CLOSED');
    const { consumersPerSessionMax } = limits;
    if (this.#consumers.size >= consumersPerSessionMax)
      throw new QueueError('CONSUMERS_FULL', { details: { consumersPerSessionMax } });
    const pipeline = this.#session.openPipeline(queue, subscriber);
    if (mode === consumerModes.session && !canPrefetch(pipeline.row))
      throw new QueueError('CONSUMER_UNSUPPORTED');
    const consumer = new ServerConsumer({
      pipeline,
      messagesMaximum,
      fair: mode !== consumerModes.all,
      holdMs,
      ports: this.#ports,
      stream,
    });
    this.#consumers.set(request, consumer);
  }

  /** Throws `CONSUMER_CLOSED`, and `PROTOCOL_INVALID` if it was never opened. */
  find(consumer: RequestNumber): ServerConsumer {
    const found = this.#consumers.get(consumer);
    if (found !== undefined) return found;
    if (consumer <= this.#lastNumber) throw new QueueError('CONSUMER_CLOSED');
    throw protocolError(`Consumer ${consumer} was not opened`);
  }

  /**
   * Resolves with the messages of a pull, or with undefined; rejects with why the consumer has ended, and with
   * `PROTOCOL_INVALID`.
   */
  async handleRequest(kind: number, body: BodyReader, mayWait: boolean): Promise<Message[] | undefined> {
    const number: RequestNumber = body.u32();
    const consumer = this.find(number);
    if (kind !== requests.pull) return this.#change(kind, number, consumer, body);
    const [acknowledged, max, waitMs] = [body.u32(), body.u32(), body.u32()];
    body.assertEnd();
    if (max < 1 || max > limits.pipelineMessagesMax || waitMs > limits.waitMsMax)
      throw protocolError('A pull asks for too much');
    const pulled = consumer.pull(acknowledged, max, mayWait ? waitMs : 0);
    return await (waitMs > 0 && !mayWait ? orWaitRefused(pulled) : pulled);
  }

  async #change(
    kind: number,
    number: RequestNumber,
    consumer: ServerConsumer,
    body: BodyReader,
  ): Promise<undefined> {
    if (kind === requests.consumerFlow) {
      const [acknowledged, credit] = [body.u32(), body.u32()];
      body.assertEnd();
      await consumer.flow(acknowledged, credit);
      return;
    }
    const seen = body.u32();
    const how = kind === requests.recoverConsumer ? returnFromText(body.text()) : {};
    body.assertEnd();
    if (kind === requests.recoverConsumer) await consumer.recover(seen, how);
    else if (kind === requests.returnUnseen) consumer.returnUnseen(seen);
    else {
      this.#consumers.delete(number);
      await consumer.end(new QueueError('CONSUMER_CLOSED'), seen);
    }
  }

  /** Ends a wait of a pull; a consumer that is closed has none. */
  cancelPull(consumer: RequestNumber): void {
    this.#consumers.get(consumer)?.cancelPull();
  }

  /** Resolves when their messages are returned. */
  async endAll(): Promise<void> {
    this.#isEnded = true;
    const all = [...this.#consumers.values()];
    this.#consumers.clear();
    await Promise.all(all.map((consumer) => consumer.end(new QueueError('SESSION_CLOSED'))));
  }
}

/** For a call that cannot wait: rejects with `WAITERS_FULL` if there was nothing for it. */
export async function orWaitRefused(pending: Promise<Message[]>): Promise<Message[]> {
  const messages = await pending;
  if (messages.length > 0) return messages;
  const { requestsPerConnectionMax } = limits;
  const message = `Too many calls wait on the connection (limit ${requestsPerConnectionMax})`;
  throw new QueueError('WAITERS_FULL', { message, details: { requestsPerConnectionMax } });
}

/** Whether a dequeue may be given messages ahead: not where it consumes at once, nor where each delivery is an attempt. */
function canPrefetch(row: QueueRow): boolean {
  return row.visibility === 'commit' && !countsOnDelivery(row);
}
