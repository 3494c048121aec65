/** What the handler of a message throws to say how the message is returned. Any other error returns it with the back-off. */
import { QueueError } from './errors.ts';
import { limits } from './limits.ts';

/**
 * The message moves to the exception queue at once, whatever its number of attempts. With `cause`, that is the error that is
 * kept there.
 */
export class RejectMessage extends Error {
  override readonly name = 'RejectMessage';
}

/**
 * The message is delivered again after `delayMs`, 0 ms to an hour, unless its attempts are used up. With `cause`, that is the
 * error that is kept. Throws `OPTIONS_INVALID`.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(delayMs: number, message = `to be delivered again in ${delayMs} ms`, options?: ErrorOptions) {
    super(message, options);
    if (!Number.isInteger(delayMs) || delayMs < 0 || delayMs > limits.retryDelayMsMax)
      throw new QueueError('OPTIONS_INVALID', {
        message: `delayMs must be a whole number from 0 to ${limits.retryDelayMsMax}, not ${delayMs}`,
        details: { option: 'delayMs' },
      });
    this.delayMs = delayMs;
  }
}
