/**
 * One consumer that is open at the instance, over one connection. Acknowledgements and credit are sent once in a turn of the event
 * loop, or with the next pull.
 */

import type { Message } from '../api/message.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { RequestNumber } from '../model/ids.ts';
import { requests, returnToText } from '../wire/protocol.ts';
import type { ConsumerSettings } from './consumer-settings.ts';
import type { PushedMessages } from './pending-requests.ts';
import type { SessionAttachment } from './session-attachment.ts';

/** A pipeline whose messages the session's transaction consumes. */
export interface TransactedPart {
  /** The consumer's number and how many of its messages a commit would consume now; undefined if none. */
  readonly toCommit: { consumer: RequestNumber; messages: number } | undefined;
  /** A commit that consumes them was sent: they are the transaction's. */
  onCommitSent(): void;
  /** The transaction was rolled back: delivery begins again with the oldest message that it had. */
  recover(how?: ValidReturn): Promise<void>;
  close(): Promise<void>;
}

export class ConsumerStream {
  readonly #session: SessionAttachment;
  /** Its number at the instance. */
  #number: RequestNumber = 0;
  #close: () => void = () => undefined;
  #isEnded = false;
  #acknowledged = 0;
  #credit = 0;
  #isScheduled = false;

  constructor(session: SessionAttachment) {
    this.#session = session;
  }

  get number(): RequestNumber {
    return this.#number;
  }

  /** The session must be attached. Rejects with what the instance says. */
  async open(settings: ConsumerSettings, pushed: PushedMessages): Promise<void> {
    const { queue, subscriber, messagesMaximum, mode, holdMs } = settings;
    const onEnded = (error: unknown) => {
      this.#isEnded = true;
      pushed.onEnded(error);
    };
    const { number, opened, close } = this.#session.openConsumer(
      { onMessages: (messages) => pushed.onMessages(messages), onEnded },
      (writer) => {
        writer.u32(this.#session.sessionNumber);
        writer.u32(messagesMaximum);
        writer.u8(mode);
        writer.u32(holdMs);
        writer.text(queue);
        if (subscriber !== undefined) writer.text(subscriber);
      },
    );
    this.#number = number;
    this.#close = close;
    try {
      await opened;
    } catch (error) {
      this.#isEnded = true;
      close();
      throw error;
    }
  }

  /** Consumes the `acknowledged` oldest messages, and lets the instance push `credit` more. */
  add({ acknowledged, credit }: { acknowledged: number; credit: number }): void {
    this.#acknowledged += acknowledged;
    this.#credit += credit;
    if (this.#isScheduled || this.#acknowledged + this.#credit === 0) return;
    this.#isScheduled = true;
    this.#session.link.ports.timers.nextTurn(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  /** Sends at once what `add` has collected. */
  flush(): void {
    const { acknowledged, credit } = this.#take();
    if (acknowledged + credit === 0 || this.#isEnded) return;
    this.#session.link.sendOneWay(requests.consumerFlow, (writer) => {
      writer.u32(this.#session.sessionNumber);
      writer.u32(this.#number);
      writer.u32(acknowledged);
      writer.u32(credit);
    });
  }

  #take(): { acknowledged: number; credit: number } {
    const taken = { acknowledged: this.#acknowledged, credit: this.#credit };
    this.#acknowledged = 0;
    this.#credit = 0;
    return taken;
  }

  /** As `flush`, but waits for the answer: resolves when the messages are consumed and all ready messages have arrived. */
  async flushAndWait(): Promise<void> {
    const { acknowledged, credit } = this.#take();
    await this.#request(requests.consumerFlow, [acknowledged, credit]);
  }

  pull(max: number, waitMs: number): Promise<Message[]> {
    const { acknowledged } = this.#take();
    return this.#request<Message[]>(requests.pull, [acknowledged, max, waitMs]);
  }

  cancelPull(): void {
    if (this.#isEnded) return;
    this.#session.link.sendOneWay(requests.cancelPull, (writer) => {
      writer.u32(this.#session.sessionNumber);
      writer.u32(this.#number);
    });
  }

  /**
   * Returns all unacknowledged messages to the queue. The application has seen the first `seen` of them, and returns these as
   * `how` says. None arrives afterwards.
   */
  async recover(seen: number, how: ValidReturn): Promise<void> {
    this.#credit = 0;
    this.flush();
    await this.#request(requests.recoverConsumer, [seen], returnToText(how));
  }

  /** Returns the messages that the application has not seen: all behind the first `seen`. */
  async returnUnseen(seen: number): Promise<void> {
    await this.#request(requests.returnUnseen, [seen]);
  }

  async close(seen: number): Promise<void> {
    this.#credit = 0;
    this.flush();
    this.#isEnded = true; // the instance knows it no longer, whatever is acknowledged after that
    try {
      await this.#request(requests.closeConsumer, [seen]);
    } finally {
      this.#close(); // until then the instance may send what it had for it
    }
  }

  #request<T = void>(kind: number, fields: readonly number[], text?: string): Promise<T> {
    return this.#session.request<T>(kind, (writer) => {
      writer.u32(this.#session.sessionNumber);
      writer.u32(this.#number);
      for (const field of fields) writer.u32(field);
      if (text !== undefined) writer.text(text);
    });
  }
}
