/**
 * Compares keys in constant time and slows guesses down. An address with a few wrong keys must wait, twice as long after each
 * further wrong one; until then even the right key is refused, or guessing could continue unhindered. Beside that, all addresses
 * that have never shown the right key have a common budget of wrong keys, for an attacker with many of them.
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
  /** Addresses that have shown the right key. */
  readonly #known = new Set<string>();
  #budget: { left: number; atMs: number };

  constructor({ key, nowMs }: KeyCheckOptions) {
    this.#expected = digest(key);
    this.#nowMs = nowMs;
    this.#budget = { left: limits.wrongKeys.total, atMs: nowMs() };
  }

  /** Returns if the key is right. Throws `KEY_WRONG`, or `KEY_GUESSES_SLOWED` without having compared it. */
  assertRight(ip: string, key: string): void {
    const address = clientOf({ remoteAddress: ip });
    const given = digest(key);
    const guesser = this.#guesserAt(address);
    if (guesser !== undefined && timingSafeEqual(guesser.lastWrong, given))
      throw new ServerError('KEY_WRONG');
    this.#assertNotSlowed(address, guesser);
    if (!timingSafeEqual(this.#expected, given)) {
      this.#countWrong(address, guesser, given);
      throw new ServerError('KEY_WRONG');
    }
    this.#guessers.delete(address);
    addBounded(this.#known, address);
  }

  #guesserAt(address: string): Guesser | undefined {
    const guesser = this.#guessers.get(address);
    if (guesser === undefined || this.#nowMs() - guesser.lastAtMs < limits.wrongKeys.forgottenMs)
      return guesser;
    this.#guessers.delete(address);
    return undefined;
  }

  #assertNotSlowed(address: string, guesser: Guesser | undefined): void {
    const waitMs = (guesser?.blockedUntilMs ?? 0) - this.#nowMs();
    if (waitMs > 0) throw slowed(waitMs);
    if (this.#known.has(address)) return;
    const { total, totalRefillMs } = limits.wrongKeys;
    const nowMs = this.#nowMs();
    const left = Math.min(total, this.#budget.left + (nowMs - this.#budget.atMs) / totalRefillMs);
    this.#budget = { left, atMs: nowMs };
    if (left < 1) throw slowed((1 - left) * totalRefillMs);
  }

  #countWrong(address: string, guesser: Guesser | undefined, given: Buffer): void {
    const { free, waitMsMin, waitMsMax } = limits.wrongKeys;
    const wrong = (guesser?.wrong ?? 0) + 1;
    const waitMs = wrong < free ? 0 : Math.min(waitMsMin * 2 ** (wrong - free), waitMsMax);
    const nowMs = this.#nowMs();
    this.#guessers.delete(address);
    this.#guessers.set(address, { wrong, lastWrong: given, lastAtMs: nowMs, blockedUntilMs: nowMs + waitMs });
    dropOldest(this.#guessers);
    if (!this.#known.has(address)) this.#budget.left -= 1;
  }
}

function slowed(waitMs: number): ServerError {
  return new ServerError('KEY_GUESSES_SLOWED', { details: { retryAfterMs: Math.ceil(waitMs) } });
}

function addBounded(set: Set<string>, address: string): void {
  set.delete(address);
  set.add(address);
  dropOldest(set);
}

function dropOldest(collection: Map<string, unknown> | Set<string>): void {
  if (collection.size <= limits.wrongKeys.addressesMax) return;
  const [oldest] = collection.keys();
  collection.delete(oldest!);
}

const digest = (text: string) => createHash('sha256').update(text).digest();
