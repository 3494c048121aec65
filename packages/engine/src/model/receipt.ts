/**
 * Receipts of timed holds: `<name>.<secret>`. The name consists of numbers that can be guessed (log, sequence number, epoch,
 * hold number) and finds the hold; the secret, 132 random bits of that hold alone, is what proves that its caller was given
 * the message. Nothing of it is stored: holds end with the process, and their receipts with them.
 *
 * Turned down: a MAC over the numbers under a key of the opening. It would save 22 characters for each hold, but needs a
 * cryptographic port in these rooms and costs an HMAC to make and another to check, where random bytes are drawn for 64 holds
 * at once; and a leaked key would give away all receipts.
 */
import type { Random } from './ports.ts';

/** Length of the secret in base64url characters: 132 bits. */
const secretCharacters = 22;
/** A call for random bytes costs microseconds, whatever their number. */
const secretsPerDraw = 64;
const drawnBytes = (secretCharacters * secretsPerDraw * 3) / 4;

/** Makes the receipts of one opening of an instance. */
export class ReceiptSource {
  readonly #random: Random;
  /** Secrets as text, of which those before `#next` are used. */
  #drawn = '';
  #next = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The receipt of the delivery that `name` identifies. */
  next(name: string): string {
    if (this.#next === this.#drawn.length) {
      this.#drawn = Buffer.from(this.#random.bytes(drawnBytes)).toString('base64url');
      this.#next = 0;
    }
    const from = this.#next;
    this.#next += secretCharacters;
    return `${name}.${this.#drawn.slice(from, this.#next)}`;
  }
}

/** The part that finds the hold; the whole text if there is no secret. */
export function receiptName(receipt: string): string {
  const dot = receipt.lastIndexOf('.');
  return dot < 0 ? receipt : receipt.slice(0, dot);
}

/**
 * Whether the texts are the same. The time depends on their lengths, which are no secret, and not on where they differ, so
 * that a secret cannot be guessed character by character.
 */
export function receiptsEqual(given: string, actual: string): boolean {
  let difference = given.length ^ actual.length;
  for (let i = 0; i < actual.length; i += 1) difference |= given.charCodeAt(i) ^ actual.charCodeAt(i);
  return difference === 0;
}
