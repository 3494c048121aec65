/** The system's monotonic clock in milliseconds, with fractions: the same in every process of one machine. */
export type Clock = () => number;

/**
 * A clock as cheap as `performance.now` (which counts from the start of its own process) on the scale of
 * `process.hrtime` (which all processes share), so that a message's time stamp means the same where it is delivered.
 */
export function createMonotonicClock(): Clock {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => offset + performance.now();
}
