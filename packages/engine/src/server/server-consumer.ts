/**
 * The instance's end of a remote consumer: pushes messages ahead of its calls, as many as the client has given credit for,
 * or answers its pulls. It holds all messages that are not acknowledged, in the order of their delivery (`SessionPipeline`), so
 * an acknowledgement is just a number of messages, from the oldest on. Once the consumer has ended, each call reports why.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import { PipelineWindow, payloadBytesOf } from '../model/pipeline-window.ts';
import type { Ports, Timer } from '../model/ports.ts';
import { countsOnDelivery } from '../model/retry-life.ts';
import type { SessionPipeline } from '../runtime/session-pipeline.ts';
import { protocolError } from '../wire/protocol.ts';

export interface ServerConsumerOptions {
  pipeline: SessionPipeline;
  messagesMaximum: number;
  fair: boolean;
  holdMs: number;
  ports: Pick<Ports, 'clock' | 'timers'>;
  stream: ConsumerStream;
}

/** Sends to the client. */
export interface ConsumerStream {
  /** Returns a promise while the client does not read what it was sent before. */
  push(messages: readonly Message[]): Promise<void> | undefined;
  /** The consumer has ended. */
  fail(error: unknown): void;
}

export class ServerConsumer {
  readonly #options: ServerConsumerOptions;
  readonly #window: PipelineWindow;
  /** Messages that the client lets the instance push. */
  #credit = 0;
  #isStarted = false;
  /** Raised when the pipeline is emptied: what a delivery under way brings is returned at once. */
  #generation = 0;
  /** Set while messages are being pushed, which continues as long as there is credit and room. */
  #pushing: Promise<void> | undefined;
  /** Set while it waits for messages, to push or for a pull. */
  #wait: AbortController | undefined;
  #whenIdle: (() => void)[] = [];
  #isPulling = false;
  #isPullCancelled = false;
  #end: { reason: unknown } | undefined;
  #lastProgressMs: number;
  #stallTimer: Timer | undefined;

  constructor(options: ServerConsumerOptions) {
    const { ports, fair } = options;
    const messagesMaximum = countsOnDelivery(options.pipeline.row) ? 1 : options.messagesMaximum;
    this.#options = options;
    this.#window = new PipelineWindow({ messagesMaximum, fair, clock: ports.clock });
    this.#lastProgressMs = ports.clock.monotonicMs();
  }

  /** Throws why the consumer has ended. */
  #assertActive(): void {
    if (this.#end !== undefined) throw this.#end.reason;
    this.#lastProgressMs = this.#options.ports.clock.monotonicMs();
  }

  /**
   * The client acknowledges the oldest messages and gives credit for more: initially and after a recovery for the whole pipeline,
   * then for each message that its application was given. Resolves when the acknowledged messages are consumed and the ready ones
   * are pushed.
   */
  async flow(acknowledged: number, credit: number): Promise<void> {
    this.#assertActive();
    if (this.#credit + credit > this.#options.messagesMaximum)
      throw protocolError('A consumer gives more credit than its pipeline may hold');
    const consumed = this.#consume(acknowledged);
    if (credit > 0) this.#addCredit(credit);
    await consumed;
    await this.#pushed();
  }

  #addCredit(credit: number): void {
    this.#credit += credit;
    if (this.#isStarted) this.#window.onTaken(credit);
    this.#isStarted = true;
    if (this.#pushing === undefined && this.#pushable > 0) this.#pushing = this.#push();
  }

  async #consume(count: number): Promise<void> {
    if (count === 0) return;
    this.#assertHeld(count);
    try {
      await this.#options.pipeline.consume(count);
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  #assertHeld(count: number): void {
    if (count > this.#options.pipeline.size)
      throw protocolError('A consumer acknowledges or returns more messages than it was sent');
  }

  /** Stages the consumption of the oldest messages for the session's commit. */
  consumeInTransaction(count: number): void {
    this.#assertActive();
    this.#assertHeld(count);
    this.#options.pipeline.consumeInTransaction(count);
  }

  /** Resolves when everything that is ready and may be pushed was pushed. */
  #pushed(): Promise<void> {
    if (this.#pushing === undefined || this.#wait !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #becomeIdle(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** How many messages may be pushed now. */
  get #pushable(): number {
    if (this.#end !== undefined) return 0;
    return Math.min(this.#credit, this.#window.room, limits.pipelineStepMessagesMax);
  }

  async #push(): Promise<void> {
    try {
      for (;;) {
        const max = this.#pushable;
        if (max === 0) break;
        const messages = await this.#deliver(max, limits.waitMsMax);
        if (messages.length === 0) continue;
        this.#credit -= messages.length;
        this.#window.onSent(messages.length, payloadBytesOf(messages));
        this.#watchStall();
        await this.#options.stream.push(messages);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#pushing = undefined;
      this.#becomeIdle();
    }
  }

  /** Resolves without messages if the pipeline is emptied or the wait ends first. */
  async #deliver(max: number, waitMs: number): Promise<Message[]> {
    const generation = this.#generation;
    const { pipeline } = this.#options;
    let messages = await pipeline.deliver({ max, waitMs: 0 });
    const waits = messages.length === 0 && waitMs > 0 && !this.#isPullCancelled;
    if (waits && generation === this.#generation) {
      this.#wait = new AbortController();
      this.#becomeIdle();
      try {
        messages = await pipeline.deliver({ max, waitMs, signal: this.#wait.signal });
      } finally {
        this.#wait = undefined;
      }
    }
    if (generation === this.#generation) return messages;
    void pipeline.returnAll(0);
    return [];
  }

  /** Acknowledges the oldest messages and delivers up to `max`; waits up to `waitMs` for the first one. */
  async pull(acknowledged: number, max: number, waitMs: number): Promise<Message[]> {
    this.#assertActive();
    if (this.#isPulling || this.#isStarted)
      throw protocolError('A consumer has one pull at a time, and none beside a pipeline');
    this.#isPulling = true;
    this.#isPullCancelled = false;
    try {
      const consumed = acknowledged === 0 ? undefined : this.#consume(acknowledged);
      const delivered = this.#deliver(max, waitMs);
      if (consumed !== undefined) await Promise.all([consumed, delivered]);
      const messages = await delivered;
      this.#watchStall();
      return messages;
    } finally {
      this.#isPulling = false;
    }
  }

  cancelPull(): void {
    if (!this.#isPulling) return;
    this.#isPullCancelled = true;
    this.#wait?.abort();
  }

  /**
   * Returns all messages to the queue; the application has seen the first `seen` of them, and returns these as `how` says.
   * Resolves when they are counted, and none of them will be sent any more.
   */
  async recover(seen: number, how: ValidReturn): Promise<void> {
    this.#assertActive();
    const returned = this.#empty(seen, how);
    await this.#pushing;
    await returned;
  }

  /** Returns the messages behind the first `seen`: the application was not given them, and they do not count as delivered. */
  returnUnseen(seen: number): void {
    this.#assertActive();
    if (this.#isPulling || this.#isStarted)
      throw protocolError('A consumer that pulls or has a pipeline cannot return unseen messages alone');
    this.#assertHeld(seen);
    this.#options.pipeline.returnUnseen(seen);
  }

  #empty(seen: number, how?: ValidReturn): Promise<void> | undefined {
    this.#generation += 1;
    this.#credit = 0;
    this.#isStarted = false;
    this.#window.reset();
    this.#wait?.abort();
    return this.#options.pipeline.returnAll(seen, how);
  }

  /**
   * Ends it and returns its messages. By default all count as delivered, because it is unknown what the application was given. A
   * promise if the count is waited for; it never rejects.
   */
  end(reason: unknown, seen = Number.POSITIVE_INFINITY): Promise<void> | undefined {
    if (this.#end !== undefined) return undefined;
    this.#end = { reason };
    this.#stallTimer?.cancel();
    return this.#empty(seen);
  }

  /** Ends the consumer, and notifies the client. */
  fail(error: unknown): void {
    if (this.#end !== undefined) return;
    void this.end(error);
    this.#options.stream.fail(error);
  }

  #watchStall(): void {
    if (this.#stallTimer !== undefined || this.#end !== undefined) return;
    const { holdMs, ports } = this.#options;
    this.#lastProgressMs = ports.clock.monotonicMs();
    this.#watchFor(holdMs);
  }

  #watchFor(ms: number): void {
    const { holdMs, ports, pipeline } = this.#options;
    this.#stallTimer = ports.timers.after(Math.ceil(ms), () => {
      this.#stallTimer = undefined;
      if (pipeline.size === 0) return; // watched again with the next message
      const leftMs = this.#lastProgressMs + holdMs - ports.clock.monotonicMs();
      if (leftMs > 0) this.#watchFor(leftMs);
      else this.fail(new QueueError('CONSUMER_STALLED', { details: { holdMs } }));
    });
  }
}
