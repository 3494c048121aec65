/**
 * One consumer as it is open at the instance, on one connection. What it says about messages that were handed out leaves once in
 * a turn of the event loop, or with the next pull.
 */
import type { Message } from '../api/message.ts';
import { requests } from '../wire/protocol.ts';
import type { ClientLink } from './client-link.ts';
import type { PushedMessages } from './pending-requests.ts';

export interface ConsumerSettings {
  queue: string;
  subscriber: string | undefined;
  messagesMaximum: number;
  fair: boolean;
  holdMs: number;
}

export class ConsumerStream {
  readonly #link: ClientLink;
  readonly #sessionNumber: number;
  /** Its number at the instance. */
  #number = 0;
  #close: () => void = () => undefined;
  #isEnded = false;
  #acknowledged = 0;
  #credit = 0;
  #isScheduled = false;

  constructor(link: ClientLink, sessionNumber: number) {
    this.#link = link;
    this.#sessionNumber = sessionNumber;
  }

  get number(): number {
    return this.#number;
  }

  /** The session must be attached. Rejects with what the instance says. */
  async open(settings: ConsumerSettings, pushed: PushedMessages): Promise<void> {
    const { queue, subscriber, messagesMaximum, fair, holdMs } = settings;
    const onEnded = (error: unknown) => {
      this.#isEnded = true;
      pushed.onEnded(error);
    };
    const { number, opened, close } = this.#link.openConsumer(
      { onMessages: (messages) => pushed.onMessages(messages), onEnded },
      (writer) => {
        writer.u32(this.#sessionNumber);
        writer.u32(messagesMaximum);
        writer.u8(fair ? 1 : 0);
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

  /** The oldest messages are consumed, and so many more may be pushed. */
  add({ acknowledged, credit }: { acknowledged: number; credit: number }): void {
    this.#acknowledged += acknowledged;
    this.#credit += credit;
    if (this.#isScheduled || this.#acknowledged + this.#credit === 0) return;
    this.#isScheduled = true;
    this.#link.ports.timers.nextTurn(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  /** Sends what `add` was told now. */
  flush(): void {
    const { acknowledged, credit } = this.#take();
    if (acknowledged + credit === 0 || this.#isEnded) return;
    this.#link.sendOneWay(requests.consumerFlow, (writer) => {
      writer.u32(this.#sessionNumber);
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

  /** Resolves when what `add` was told is done, and what was ready has come. */
  async settle(): Promise<void> {
    const { acknowledged, credit } = this.#take();
    await this.#request(requests.consumerFlow, [acknowledged, credit]);
  }

  async pull(max: number, waitMs: number): Promise<Message[]> {
    const { acknowledged } = this.#take();
    return await this.#request<Message[]>(requests.pull, [acknowledged, max, waitMs]);
  }

  cancelPull(): void {
    if (this.#isEnded) return;
    this.#link.sendOneWay(requests.cancelPull, (writer) => {
      writer.u32(this.#sessionNumber);
      writer.u32(this.#number);
    });
  }

  /** Returns all that is not acknowledged; the application was given the first `seen`. None of it comes after that. */
  async recover(seen: number): Promise<void> {
    this.#credit = 0;
    this.flush();
    await this.#request(requests.recoverConsumer, [seen]);
  }

  async close(seen: number): Promise<void> {
    this.#credit = 0;
    this.flush();
    this.#isEnded = true; // the instance knows it no longer, whatever is acknowledged after that
    this.#close();
    await this.#request(requests.closeConsumer, [seen]);
  }

  #request<T = void>(kind: number, fields: readonly number[]): Promise<T> {
    return this.#link.request<T>(kind, (writer) => {
      writer.u32(this.#sessionNumber);
      writer.u32(this.#number);
      for (const field of fields) writer.u32(field);
    });
  }
}
