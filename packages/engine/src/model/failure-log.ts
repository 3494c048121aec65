/**
 * The log of failed messages of a consumer that was given no `onError`: a line each on standard error, and no more than ten in ten
 * seconds, since a handler can fail thousands of times a second.
 */
import type { Message } from '../api/message.ts';
import { errorText } from './failed-attempts.ts';
import type { Clock } from './ports.ts';

const windowMs = 10_000;
const linesMax = 10;

export class FailureLog {
  readonly #queue: string;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #left = 0;

  constructor(queue: string, clock: Pick<Clock, 'monotonicMs'>) {
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Without a message the consumer itself has failed. */
  readonly add = (error: unknown, message?: Pick<Message, 'id' | 'deliveryCount'>): void => {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowStartMs >= windowMs) {
      this.end();
      this.#windowStartMs = nowMs;
      this.#lines = 0;
    }
    if (this.#lines === linesMax) {
      this.#left += 1;
      return;
    }
    this.#lines += 1;
    const { name, message: text } = errorText(error);
    const what =
      message === undefined ? 'a consumer' : `message ${message.id}, delivery ${message.deliveryCount},`;
    this.#write(`${what} failed: ${name}: ${text}`);
  };

  /** Says how many failures were left out since the last line. */
  end(): void {
    if (this.#left > 0) this.#write(`${this.#left} more failures were not logged`);
    this.#left = 0;
  }

  #write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a payload brought into an error must not forge lines.
    console.warn(`shardlab: queue ${this.#queue}: ${text}`.replaceAll(/[\x00-\x1f\x7f]+/g, ' '));
  }
}
