/**
 * Compares keys in constant time. The right key is never refused, whatever else comes from its address: clients behind one proxy or
 * gateway share an address, and one of them with a wrong key would lock the others out. Wrong keys are counted by address, and beyond
 * a few they are answered with a time to wait. That makes programs with a wrong key pause; what keeps a key from being guessed is
 * its length.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import { clientOf } from './client-address.ts';

interface Guesser {
  wrong: number;
  /** The last wrong key: a client that repeats it, such as a scraper with an old key, learns nothing new and is not counted again. */
  lastWrong: Buffer;
  lastAtMs: number;
  blockedUntilMs: number;
}

export interface KeyCheckOptions {
  key: string;
  /** Monotonic milliseconds. */
  nowMs: () => number;
}

export class KeyCheck {
  readonly #expected: Buffer;
  readonly #nowMs: () => number;
  /** Guessers by address, the latest at the end. */
  readonly #guessers = new Map<string, Guesser>();

  constructor({ key, nowMs }: KeyCheckOptions) {
    this.#expected = digest(key);
    this.#nowMs = nowMs;
  }

  /** Returns if the key is right. Throws `KEY_WRONG`, or `KEY_GUESSES_SLOWED` after too many wrong ones. */
  assertRight(ip: string, key: string): void {
    const given = digest(key);
    if (timingSafeEqual(this.#expected, given)) return;
    const address = clientOf({ remoteAddress: ip });
    const guesser = this.#guesserAt(address);
    if (guesser === undefined || !timingSafeEqual(guesser.lastWrong, given)) {
      this.#assertNotSlowed(guesser);
      this.#countWrong(address, guesser, given);
    }
    throw new ServerError('KEY_WRONG');
  }

  #guesserAt(address: string): Guesser | undefined {
    const guesser = this.#guessers.get(address);
    if (guesser === undefined || this.#nowMs() - guesser.lastAtMs < limits.wrongKeys.forgottenMs)
      return guesser;
    this.#guessers.delete(address);
    return undefined;
  }

  #assertNotSlowed(guesser: Guesser | undefined): void {
    const waitMs = (guesser?.blockedUntilMs ?? 0) - this.#nowMs();
    if (waitMs <= 0) return;
    throw new ServerError('KEY_GUESSES_SLOWED', { details: { retryAfterMs: Math.ceil(waitMs) } });
  }

  #countWrong(address: string, guesser: Guesser | undefined, given: Buffer): void {
    const { free, waitMsMin, waitMsMax, addressesMax } = limits.wrongKeys;
    const wrong = (guesser?.wrong ?? 0) + 1;
    const waitMs = wrong < free ? 0 : Math.min(waitMsMin * 2 ** (wrong - free), waitMsMax);
    const nowMs = this.#nowMs();
    this.#guessers.delete(address);
    this.#guessers.set(address, { wrong, lastWrong: given, lastAtMs: nowMs, blockedUntilMs: nowMs + waitMs });
    const [oldest] = this.#guessers.keys();
    if (this.#guessers.size > addressesMax) this.#guessers.delete(oldest!);
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest();
