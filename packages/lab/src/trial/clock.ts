/** The system's monotonic clock in fractional milliseconds: the same in every process of a machine. */
export type Clock = () => number;

/**
 * A clock as cheap as `performance.now`, which counts from the start of the process, but with the origin of
 * `process.hrtime`, which all processes share, so that time stamps of messages are comparable between processes.
 */
export function createMonotonicClock(): Clock {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => offset + performance.now();
}
