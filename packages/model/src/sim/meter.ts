/** Counts and times of the measured window. Rates count messages of acknowledged transactions, as the lab's meter does. */
import { LogHistogram } from './log-histogram.ts';

export class Meter {
  enqueued = 0;
  dequeued = 0;
  /** Dequeued messages of each instance. */
  readonly dequeuedOn: Float64Array;
  /** One dequeue call that found messages, without the client's round trip, microseconds. */
  readonly dequeueCall = new LogHistogram();
  /** Time from a commit's arrival at the instance until it is durable, microseconds. */
  readonly commit = new LogHistogram();
  /** Time from the start of the enqueuing commit to the delivery, microseconds. */
  readonly latency = new LogHistogram();

  constructor(instances: number) {
    this.dequeuedOn = new Float64Array(instances);
  }

  /** Messages in and out. */
  get operations(): number {
    return this.enqueued + this.dequeued;
  }

  clear(): void {
    this.enqueued = 0;
    this.dequeued = 0;
    this.dequeuedOn.fill(0);
    this.dequeueCall.clear();
    this.commit.clear();
    this.latency.clear();
  }
}
