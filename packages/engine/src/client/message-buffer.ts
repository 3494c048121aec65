/** Messages that came ahead of the calls that take them, in the order in which they left the instance. */
import type { Message } from '../api/message.ts';

export class MessageBuffer {
  #messages: Message[] = [];
  #first = 0;

  get size(): number {
    return this.#messages.length - this.#first;
  }

  add(messages: Message[]): void {
    if (this.size === 0) {
      this.#messages = messages;
      this.#first = 0;
    } else for (const message of messages) this.#messages.push(message);
  }

  shift(): Message | undefined {
    if (this.size === 0) return undefined;
    this.#first += 1;
    return this.#messages[this.#first - 1];
  }

  /** Removes and returns the first messages, up to `max`. */
  take(max: number): Message[] {
    const count = Math.min(max, this.size);
    const messages = this.#messages;
    const end = this.#first + count;
    const taken = count === messages.length ? messages : messages.slice(this.#first, end);
    if (end === messages.length) this.clear();
    else this.#first = end;
    return taken;
  }

  clear(): void {
    this.#messages = [];
    this.#first = 0;
  }
}
