/**
 * Milliseconds of the machine's monotonic clock, which processes of one boot share and which no one sets. What
 * `process.hrtime` reads, at the price of `performance.now`: both count the same clock, from different origins.
 */
export type Clock = () => number;

const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export const monotonicMs: Clock = () => originMs + performance.now();
