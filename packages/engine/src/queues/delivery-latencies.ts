/**
 * How long the messages of a queue waited from their enqueue to their first delivery, as counts by duration. For each dequeue
 * call that got messages, the first message is measured, the oldest of its shard. To keep this cheap at high rates, only some
 * calls are measured, and each also counts for the calls up to the next measured one.
 */
import { latencyBucketCount, latencyBucketOf } from '../api/delivery-latency.ts';

/**
 * Calls measured after each reading before only every second one is, then every fourth, and so on: a hundred thousand calls
 * between two readings cost 1,300 measurements.
 */
const measuredPerStride = 128;

export class DeliveryLatencies {
  readonly #counts: number[] = Array.from({ length: latencyBucketCount }, () => 0);
  /** Dequeue calls that one measured call counts for. */
  #stride = 1;
  #measuredAtStride = 0;
  #callsLeft = 1;

  /** Whether to measure this dequeue call. `attempt`: of its first message, which is measured at its first delivery only. */
  isDue(attempt: number): boolean {
    this.#callsLeft -= 1;
    return this.#callsLeft <= 0 && attempt === 1;
  }

  /** Both in epoch milliseconds; a clock that was set back counts as no time. */
  add(enqueuedAtMs: number, nowMs: number): void {
    this.#counts[latencyBucketOf(nowMs - enqueuedAtMs)]! += this.#stride;
    this.#measuredAtStride += 1;
    if (this.#measuredAtStride === measuredPerStride) {
      this.#stride *= 2;
      this.#measuredAtStride = 0;
    }
    this.#callsLeft = this.#stride;
  }

  /**
   * Returns the number of dequeue calls by duration since this object was created. Afterwards each call is measured again for a
   * while.
   */
  read(): number[] {
    this.#stride = 1;
    this.#measuredAtStride = 0;
    this.#callsLeft = 1;
    return [...this.#counts];
  }
}
