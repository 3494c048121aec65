/**
 * First deliveries of a queue that all instances share, over all its dequeuers. An unsharded queue promises that messages are
 * delivered for the first time in the order of its index, whichever process asks. The processes have no common order of events,
 * but a common clock: the call that delivers a message must not start after a later message of its enqueuer had already arrived.
 */
import type { PayloadIdentity } from './payload.ts';

/** Numbers of a span: enqueuer, its first and last message, when the call began, when it returned (monotonic milliseconds). */
const width = 5;
/** About 10 MB for each process; deliveries after that are checked within each dequeuer's session only. */
const spansMax = 250_000;

/** Runs of consecutive messages of one enqueuer that one dequeue delivered. */
export class DeliverySpans {
  #numbers = new Float64Array(1_024 * width);
  #length = 0;

  /** Call it once for each message, in the order of a call's answer. */
  add({ enqueuer, sequence }: Pick<PayloadIdentity, 'enqueuer' | 'sequence'>, call: Interval): void {
    const last = this.#length - width;
    const numbers = this.#numbers;
    if (
      last >= 0 &&
      numbers[last] === enqueuer &&
      numbers[last + 2] === sequence - 1 &&
      numbers[last + 3] === call.fromMs &&
      numbers[last + 4] === call.toMs
    ) {
      numbers[last + 2] = sequence;
      return;
    }
    if (this.#length >= spansMax * width) return;
    if (this.#length === numbers.length) this.#grow();
    this.#numbers.set([enqueuer, sequence, sequence, call.fromMs, call.toMs], this.#length);
    this.#length += width;
  }

  /** Encodes the spans for transfer to another process. */
  numbers(): Float64Array {
    return this.#numbers.slice(0, this.#length);
  }

  #grow(): void {
    const grown = new Float64Array(this.#numbers.length * 2);
    grown.set(this.#numbers);
    this.#numbers = grown;
  }
}

/** The clocks of two processes differ by microseconds. */
const clockErrorMs = 0.05;

export interface Interval {
  fromMs: number;
  toMs: number;
}

/** The number of overtaken messages: their call started after a later message of their enqueuer had arrived. */
export function countOvertaken(all: readonly Float64Array[]): number {
  const byEnqueuer = new Map<number, { first: number; last: number; fromMs: number; toMs: number }[]>();
  for (const numbers of all) {
    for (let at = 0; at < numbers.length; at += width) {
      const [enqueuer, first, last, fromMs, toMs] = numbers.subarray(at, at + width);
      const spans = byEnqueuer.get(enqueuer!) ?? [];
      byEnqueuer.set(enqueuer!, spans);
      spans.push({ first: first!, last: last!, fromMs: fromMs!, toMs: toMs! });
    }
  }
  let overtaken = 0;
  for (const spans of byEnqueuer.values()) {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { first, last, fromMs, toMs } of spans.sort((a, b) => b.first - a.first)) {
      if (earliestMs + clockErrorMs < fromMs) overtaken += last - first + 1;
      earliestMs = Math.min(earliestMs, toMs);
    }
  }
  return overtaken;
}
