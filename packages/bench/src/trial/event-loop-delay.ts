/**
 * How late timers fire on the thread that samples: the event-loop delay of a session thread, and of whatever else lives
 * in its process. A delay longer than the interval counts for each sample that it swallowed, as it would for each of the
 * host's own timers.
 */
import { createHistogram, type Histogram } from '@shardlab/lab';

const intervalMs = 2;

export class EventLoopDelay {
  readonly histogram: Histogram = createHistogram();
  /** Resident memory at its largest, looked at with every sample. */
  residentBytesMax = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `counts` says whether a sample counts. */
  start(counts: () => boolean): void {
    const sample = (dueAt: number) => {
      const lateUs = Math.round(Math.max(0, performance.now() - dueAt) * 1_000);
      if (counts()) this.histogram.recordValueWithExpectedInterval(lateUs, intervalMs * 1_000);
      this.residentBytesMax = Math.max(this.residentBytesMax, process.memoryUsage.rss());
      this.#timer = setTimeout(sample, intervalMs, performance.now() + intervalMs);
    };
    sample(performance.now());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
