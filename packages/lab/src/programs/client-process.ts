/** A trial's end of a client process. */
import type { LabError } from '../errors/errors.ts';
import { ChildChannel, workerFailed } from '../trial/child-channel.ts';
import type { ClientFailure } from './client-failure.ts';

/** If the process fails, all calls that wait for its messages reject with `WORKER_FAILED`. */
export class ClientProcess<From extends { type: string }, To extends object> extends ChildChannel<
  From | ClientFailure,
  To
> {
  readonly #onMessage: (message: From) => boolean;

  /** `onMessage` is called with each message that is no failure, and returns whether it handled it; others are received once. */
  constructor(file: string, onMessage: (message: From) => boolean = () => false) {
    super(file);
    this.#onMessage = onMessage;
  }

  protected handles(message: From | ClientFailure): boolean {
    if (message.type !== 'failed') return this.#onMessage(message as From);
    const { message: sentence, code, stack } = message as ClientFailure;
    this.fail(`failed: ${sentence}`, { code, message: sentence, stack });
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): LabError {
    return workerFailed('The client process', { what, stderr, cause });
  }
}
