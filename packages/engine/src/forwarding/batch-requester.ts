/** Requests messages of one queue from the other instances, for consumers that wait here. */

import { limits } from '../api/limits.ts';
import { nextBatchSize } from '../model/forwarding-state.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';
import type { Peer } from './interconnect.ts';

const batchSizeLimits = {
  min: limits.forwardBatchMessagesMin,
  max: limits.forwardBatchMessagesMax,
  targetMs: limits.forwardBatchTargetMs,
};

export interface BatchRequesterOptions {
  queueId: QueueId;
  clock: Clock;
  peers(): readonly InstanceId[];
  peer(instance: InstanceId): Peer | undefined;
  runInBackground(work: () => Promise<void>): Promise<void>;
  pauseAfterFailure(): Promise<void>;
  /** Called when a peer may be asked again. */
  onRequestEnded(): void;
}

export class BatchRequester {
  readonly #options: BatchRequesterOptions;
  /** Pending requests by peer, one for each peer. */
  readonly #pendingRequests = new Map<InstanceId, { cancelled: boolean }>();
  /** Messages to request of each peer, adapted to how fast they are delivered here. */
  #batchSize: number = batchSizeLimits.min;
  /** Arrival of a full batch that has not been delivered yet. */
  #fullBatchAtMs: number | undefined;

  constructor(options: BatchRequesterOptions) {
    this.#options = options;
  }

  /** Sends a request to every peer without a pending one, unless more than half a batch is ready here. */
  requestIfLow(ready: number): void {
    if (ready > this.#batchSize / 2) return;
    const { clock, peers, runInBackground } = this.#options;
    if (this.#fullBatchAtMs !== undefined) {
      const deliveredInMs = clock.monotonicMs() - this.#fullBatchAtMs;
      this.#batchSize = nextBatchSize(this.#batchSize, deliveredInMs, batchSizeLimits);
      this.#fullBatchAtMs = undefined;
    }
    for (const peer of peers())
      if (!this.#pendingRequests.has(peer)) void runInBackground(() => this.#requestFrom(peer));
  }

  async #requestFrom(instance: InstanceId): Promise<void> {
    const { queueId, peer, pauseAfterFailure, onRequestEnded } = this.#options;
    this.#pendingRequests.set(instance, { cancelled: false });
    try {
      await peer(instance)?.requestBatch(queueId, this.#batchSize);
    } catch {
      await pauseAfterFailure();
    } finally {
      this.#pendingRequests.delete(instance);
    }
    onRequestEnded();
  }

  /** Call it when this instance has no consumer left. */
  cancelRequests(): void {
    this.#batchSize = batchSizeLimits.min;
    for (const [instance, request] of this.#pendingRequests) {
      if (!request.cancelled) this.#options.peer(instance)?.cancelRequest(this.#options.queueId);
      request.cancelled = true;
    }
  }

  /** Call it for every batch that arrives, requested or not. */
  onBatchArrived(count: number): void {
    if (count >= this.#batchSize) this.#fullBatchAtMs = this.#options.clock.monotonicMs();
  }
}
