/** A bound for what others take: an application's code, another instance, a participant of a distributed transaction. */
import type { Timers } from './ports.ts';

/** Resolves as `work` does. Rejects with `late()` if that takes longer than `msMax`; the work itself cannot be ended. */
export async function within<T>(
  timers: Timers,
  { msMax, late }: { msMax: number; late: () => Error },
  work: () => T | Promise<T>,
): Promise<T> {
  const expired = Promise.withResolvers<never>();
  const timer = timers.deadline(msMax, () => expired.reject(late()));
  try {
    return await Promise.race([(async () => work())(), expired.promise]);
  } finally {
    timer.cancel();
  }
}
