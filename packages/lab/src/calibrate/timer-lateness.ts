/**
 * How much longer than asked an emulated round trip takes. Measured with the timer of the trials on a thread that does
 * nothing else, so that a run that is compared with the model has no part in it.
 */
import { WaitRecorder } from '@shardlab/engine';
import { median } from '@shardlab/model';
import { createMonotonicClock } from '../meters/clock.ts';
import { RoundTrips } from '../trial/round-trips.ts';

/** The figures' emulated round trip. */
const nominalMs = 1;
const tripsMeasured = 300;

/** Microseconds beyond the nominal duration, at least 0: the median, which other load on the machine hardly changes. */
export async function measureTimerLateUs(count: number = tripsMeasured): Promise<number> {
  const clock = createMonotonicClock();
  const trips = new RoundTrips({ ms: nominalMs, clock });
  const time = new WaitRecorder({ clock: { monotonicMs: clock } }).openSession();
  const lateMs: number[] = [];
  for (let trip = 0; trip < count; trip++) {
    const startedAtMs = clock();
    await trips.wait(time);
    time.resume();
    lateMs.push(clock() - startedAtMs - nominalMs);
  }
  time.close();
  return Math.max(0, median(lateMs) * 1000);
}
