/**
 * The clock of delays. Due times are stored and must be valid after a restart, so they cannot use the monotonic clock, whose
 * origin is the boot. Nor can they use the wall clock, which can be set while a message waits. So delays have a clock of their
 * own:
 *
 * - While the instance is open it advances with the monotonic clock. Setting the wall clock changes no delay.
 * - At an opening it continues from the wall clock minus the stored offset between the two. So the time while the instance was
 *   closed counts, and an earlier change of the wall clock has no effect.
 * - It never goes back. At an opening it starts no earlier than the last time that the file knows: the last stored moment, which
 *   is at most `recordedEveryMs` old while messages are delayed, or the enqueue time of the newest of them. So a wall clock that
 *   was set back while the instance was closed lengthens a delay by at most the time for which it was closed.
 *
 * A wall clock that was set forward while the instance was closed cannot be distinguished from a longer pause: delays end earlier
 * by that amount, once. The same holds for a change in the last `recordedEveryMs` before a crash. Time in which the machine was
 * suspended does not count, since the monotonic clock stands still.
 */
import type { Clock } from './ports.ts';

/** How often the moment is stored while messages are delayed. */
export const recordedEveryMs = 60_000;
/** Smaller differences between the clocks are rounding and the slow correction of a clock. */
const stepMsMin = 1_000;

/** The moment as it is stored. */
export interface DelayMoment {
  /** Wall clock less delay time, ms. */
  offsetMs: number;
  /** Delay time, ms. */
  atMs: number;
}

export interface RecoveredDelayClock {
  /** Null if messages were never delayed. */
  moment: DelayMoment | null;
  /** Delay time when the newest of the delayed messages was enqueued; null if there is none. */
  lastEnqueuedAtMs: number | null;
}

export class DelayClock {
  readonly #clock: Clock;
  /** Delay time less monotonic time. */
  readonly #originMs: number;

  constructor(clock: Clock, { moment, lastEnqueuedAtMs }: RecoveredDelayClock) {
    this.#clock = clock;
    const startMs = Math.max(
      clock.epochMs() - (moment?.offsetMs ?? 0),
      moment?.atMs ?? 0,
      lastEnqueuedAtMs ?? 0,
    );
    this.#originMs = startMs - clock.monotonicMs();
  }

  /** Delay time, whole milliseconds. Equal to the wall clock as long as that is not set. */
  nowMs(): number {
    return Math.floor(this.#originMs + this.#clock.monotonicMs());
  }

  /** The current moment, to be stored. */
  moment(): DelayMoment {
    const atMs = this.nowMs();
    const offsetMs = this.#clock.epochMs() - atMs;
    return { atMs, offsetMs: Math.abs(offsetMs) < stepMsMin ? 0 : offsetMs };
  }

  /** When a due time is, by the wall clock as it is set now. */
  epochMsOf(dueAtMs: number): number {
    return dueAtMs + this.moment().offsetMs;
  }
}
