/** Requests of other instances for messages of one queue, in the order in which they came; one request a peer. */
import type { InstanceId } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';

export interface BatchRequest {
  messagesMax: number;
  /** Answers the peer: the batch was sent, or the request was cancelled. */
  resolve(): void;
}

export class BatchRequests {
  readonly #clock: Clock;
  readonly #requests = new Map<InstanceId, BatchRequest>();
  readonly #lastRequestAtMs = new Map<InstanceId, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#requests.size;
  }

  /** Resolves when the request was served or cancelled. */
  add(peer: InstanceId, messagesMax: number): Promise<void> {
    this.cancel(peer);
    this.#lastRequestAtMs.set(peer, this.#clock.monotonicMs());
    return new Promise((resolve) => this.#requests.set(peer, { messagesMax, resolve }));
  }

  cancel(peer: InstanceId): void {
    this.#requests.get(peer)?.resolve();
    this.#requests.delete(peer);
  }

  cancelAll(): void {
    for (const peer of [...this.#requests.keys()]) this.cancel(peer);
  }

  /** Takes the request out to serve it. The caller must `resolve` it afterwards. */
  take(peer: InstanceId): BatchRequest {
    const request = this.#requests.get(peer)!;
    this.#requests.delete(peer);
    this.#lastRequestAtMs.set(peer, this.#clock.monotonicMs());
    return request;
  }

  peers(): InstanceId[] {
    return [...this.#requests.keys()];
  }

  /** Monotonic time of the peer's last request: positive infinity while one is pending, negative if there was none. */
  lastRequestedAtMs(peer: InstanceId): number {
    if (this.#requests.has(peer)) return Number.POSITIVE_INFINITY;
    return this.#lastRequestAtMs.get(peer) ?? Number.NEGATIVE_INFINITY;
  }
}
