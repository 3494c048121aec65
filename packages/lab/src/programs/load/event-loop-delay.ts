/**
 * How late timers fire on the sampling thread: the event-loop delay of a session thread, and of the application in its
 * process. A delay longer than the interval counts once for each skipped sample, as it would for the application's timers.
 */
import { createHistogram, type Histogram } from '../../meters/latency.ts';

const intervalMs = 2;

export class EventLoopDelay {
  readonly histogram: Histogram = createHistogram();
  /** Maximum resident memory, read with every sample. */
  residentBytesMax = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Samples until `stop`; those count at which `isMeasured`. */
  start(isMeasured: () => boolean): void {
    const sample = (dueAt: number) => {
      const lateUs = Math.round(Math.max(0, performance.now() - dueAt) * 1_000);
      if (isMeasured()) this.histogram.recordValueWithExpectedInterval(lateUs, intervalMs * 1_000);
      this.residentBytesMax = Math.max(this.residentBytesMax, process.memoryUsage.rss());
      this.#timer = setTimeout(sample, intervalMs, performance.now() + intervalMs);
    };
    sample(performance.now());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
