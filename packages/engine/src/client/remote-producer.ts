/**
 * A producer of a remote session. Messages that leave in one turn of the event loop share a frame. One-way sends have no answer
 * but that to the last frame of a window, which says how all of them ended.
 */

import type { Producer, ProducerOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import type { NewMessage } from '../api/message.ts';
import { assertFields } from '../model/call-arguments.ts';
import { oneWayFields, producerFields } from '../model/call-fields.ts';
import type { LinkGeneration, ProducerNumber } from '../model/ids.ts';
import { assertNewMessage, validateMaxAndWait } from '../model/session-calls.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { assertText, requests } from '../wire/protocol.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { ConsumerSession } from './remote-consumer.ts';
import { StagedOperations } from './staged-operations.ts';

/** Bounds of one frame, so that a large window fills while the instance works on it. */
const frameMessagesMax = 64;
const frameBytesMax = 256 * 1024;

export type ProducerSession = Pick<ConsumerSession, 'attachment' | 'attach'> & {
  assertOpen(): void;
  onProducerClosed(producer: RemoteProducer): void;
};

export class RemoteProducer implements Producer {
  readonly #session: ProducerSession;
  readonly #number: ProducerNumber;
  readonly #queue: string;
  readonly #windowMessages: number;
  readonly #blockMs: number;
  readonly #staged: StagedOperations;
  #isScheduled = false;
  /** Number of sends since the last answer, including those not yet sent. */
  #unanswered = 0;
  /** Generation of the connection on which they were sent. */
  #generation: LinkGeneration = 0;
  /** The last of the sends that wait to leave, one after the other. */
  #lastWaiting: Promise<void> | undefined;
  /** Generation of the connection on which a send has been answered. Before that a session may be refused, and nothing would say so. */
  #answeredGeneration: LinkGeneration = 0;
  /** Set while the answer to a window is awaited. */
  #answer: Promise<void> | undefined;
  #isClosed = false;

  constructor(session: ProducerSession, number: ProducerNumber, queue: string, options: ProducerOptions) {
    assertFields(options, producerFields);
    const { oneWay, blockMs = 0 } = options;
    assertText('queue', queue);
    validateMaxAndWait(1, blockMs);
    if (oneWay !== undefined) {
      assertFields(oneWay, oneWayFields);
      validateMaxAndWait(oneWay.windowMessages, 0);
    }
    this.#session = session;
    this.#number = number;
    this.#queue = queue;
    this.#windowMessages = oneWay?.windowMessages ?? 1;
    this.#blockMs = blockMs;
    this.#staged = new StagedOperations(session.attachment.link.ports.clock);
  }

  async send(message: NewMessage): Promise<void> {
    assertNewMessage(message);
    this.#assertOpen();
    if (this.#lastWaiting === undefined && this.#answer === undefined && this.#isReady) {
      await this.#stage(message);
      return;
    }
    const sending = this.#sendAfter(this.#lastWaiting, message);
    const settled = sending.then(
      () => undefined,
      () => undefined,
    );
    this.#lastWaiting = settled;
    try {
      await sending;
    } finally {
      if (this.#lastWaiting === settled) this.#lastWaiting = undefined;
    }
  }

  async #sendAfter(previous: Promise<void> | undefined, message: NewMessage): Promise<void> {
    await previous;
    while (this.#answer !== undefined || !this.#isReady) await (this.#answer ?? this.#whenReady());
    this.#session.assertOpen();
    await this.#stage(message);
  }

  async #stage(message: NewMessage): Promise<void> {
    this.#staged.enqueue(this.#queue, message);
    this.#unanswered += 1;
    const isFirst = this.#answeredGeneration !== this.#generation;
    if (isFirst || this.#unanswered >= this.#windowMessages) await this.flush();
    else if (this.#staged.count >= frameMessagesMax || this.#staged.bytes >= frameBytesMax)
      this.#sendOneWay();
    else this.#schedule();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new QueueError('CONSUMER_CLOSED');
    this.#session.assertOpen();
  }

  get #isReady(): boolean {
    const { link } = this.#session.attachment;
    return link.isOpen && this.#generation === link.generation && !link.full;
  }

  /** Rejects with `COMMIT_OUTCOME_UNKNOWN` if the connection was lost on which sends have no answer. */
  async #whenReady(): Promise<void> {
    const { link } = this.#session.attachment;
    if (link.isOpen && this.#generation === link.generation) {
      await link.drained();
      return;
    }
    const isUnknown = this.#unanswered > 0;
    this.#unanswered = 0;
    this.#staged.clear();
    await this.#session.attach();
    this.#generation = link.generation;
    if (isUnknown) throw new QueueError('COMMIT_OUTCOME_UNKNOWN');
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#session.attachment.link.ports.timers.nextTurn(() => {
      this.#isScheduled = false;
      if (this.#staged.count > 0 && this.#isCurrent) this.#sendOneWay();
    });
  }

  get #isCurrent(): boolean {
    const { link } = this.#session.attachment;
    return link.isOpen && this.#generation === link.generation;
  }

  #sendOneWay(): void {
    this.#session.attachment.link.sendOneWay(requests.send, (writer) => this.#write(writer));
  }

  #write(writer: FrameWriter): void {
    writer.u32(this.#session.attachment.sessionNumber);
    writer.u32(this.#number);
    if (this.#staged.count === 0) return;
    writer.u32(this.#blockMs);
    this.#staged.writeTo(writer);
    this.#staged.clear();
  }

  async flush(): Promise<void> {
    if (this.#answer !== undefined) await this.#answer;
    if (this.#unanswered === 0) return;
    this.#session.assertOpen();
    if (!this.#isCurrent) {
      await this.#whenReady();
      return;
    }
    const answer = this.#requestAnswer();
    const settled = answer.then(
      () => undefined,
      () => undefined,
    );
    this.#answer = settled;
    try {
      await answer;
    } finally {
      if (this.#answer === settled) this.#answer = undefined;
    }
  }

  async #requestAnswer(): Promise<void> {
    try {
      await this.#session.attachment.link.request<void>(requests.send, (writer) => this.#write(writer));
      this.#answeredGeneration = this.#generation;
    } catch (error) {
      if (error instanceof ConnectionLost) throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
      throw error;
    } finally {
      this.#unanswered = 0;
    }
  }

  /** The session is closed: sends what is staged without asking how it ended. A send that waits for room ends. */
  abandon(): void {
    this.#isClosed = true;
    if (this.#staged.count > 0 && this.#isCurrent) this.#sendOneWay();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      await this.#lastWaiting;
      await this.flush();
    } finally {
      this.#session.onProducerClosed(this);
    }
  }
}
