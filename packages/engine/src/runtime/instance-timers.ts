/** Timers whose callbacks may find a broken invariant. */
import { ignoreViolation } from '../model/invariant.ts';
import type { Timers } from '../model/ports.ts';

/**
 * A broken invariant has stopped the instance before it is thrown. Nobody catches what the callback of a timer throws, so it
 * would end the process, in which other instances may be served.
 */
export function containViolations(timers: Timers): Timers {
  const contained = (callback: () => void) => () => {
    try {
      callback();
    } catch (error) {
      ignoreViolation(error);
    }
  };
  return {
    after: (ms, callback) => timers.after(ms, contained(callback)),
    deadline: (ms, callback) => timers.deadline(ms, contained(callback)),
    every: (ms, callback) => timers.every(ms, contained(callback)),
    nextTurn: timers.nextTurn, // on the way of each message; what can find a broken invariant there handles it
  };
}
