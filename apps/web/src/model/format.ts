/** Formats numbers for display, each with its unit. */
import { roundEstimate } from '@shardlab/contract';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const threeDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
const oneDecimal = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  signDisplay: 'negative',
});
const twoDecimals = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** Does not break, so number and unit stay on one line. */
const narrowSpace = '\u202f';
/** Does not break either: between the parts of a duration. */
const wideSpace = '\u00a0';
const dash = '–';

/** A count with thousands grouped: 31,763. */
export const formatCount = (value: number): string => whole.format(value);

/** Messages per second: 31,763/s; three digits under 100. */
export const formatRate = (perSec: number): string =>
  `${perSec < 100 ? threeDigits.format(perSec) : whole.format(perSec)}/s`;

/** A duration to three digits in µs, ms or s. Zero means that nothing was recorded and gives a dash. */
export function formatMs(ms: number): string {
  if (!(ms > 0)) return dash;
  if (ms < 1) return `${threeDigits.format(ms * 1000)}${narrowSpace}µs`;
  if (ms < 1000) return `${threeDigits.format(ms)}${narrowSpace}ms`;
  return `${threeDigits.format(ms / 1000)}${narrowSpace}s`;
}

/** Numbers below each other: one decimal, also of a whole number. */
export const formatTenths = (value: number): string => oneDecimal.format(value);

/** A time per message in µs, from 1,000 on in ms or s. */
export const formatMicros = (us: number): string =>
  us < 1_000 ? `${threeDigits.format(us)}${narrowSpace}µs` : formatMs(us / 1_000);

/** A time in ns, from 1,000 on in µs, ms or s. */
export const formatNanos = (ns: number): string =>
  ns < 1_000 ? `${threeDigits.format(ns)}${narrowSpace}ns` : formatMs(ns / 1e6);

/** Cores kept busy: 0.65 cores. */
export const formatCores = (cores: number): string =>
  `${twoDecimals.format(cores)}${narrowSpace}${cores === 1 ? 'core' : 'cores'}`;

/** Average active sessions: two decimals, no unit. */
export const formatSessions = (sessions: number): string => twoDecimals.format(sessions);

/** Sizes of memory and files in powers of 1,000: 12 kB, 87 MB, 1.2 GB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1e6) return `${whole.format(bytes / 1e3)}${narrowSpace}kB`;
  if (bytes < 1e9) return `${whole.format(bytes / 1e6)}${narrowSpace}MB`;
  return `${threeDigits.format(bytes / 1e9)}${narrowSpace}GB`;
}

/** The time of day to the millisecond: 12:30:05.123. */
export function formatTimeOfDay(atMs: number, to: 'minute' | 'second' | 'ms' = 'ms'): string {
  const time = new Date(atMs);
  const seconds = time.toLocaleTimeString('en-GB');
  if (to !== 'ms') return to === 'second' ? seconds : seconds.slice(0, 5);
  return `${seconds}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}

/** A number without a unit: whole from 1,000 on, else three significant digits. */
export const formatValue = (value: number): string =>
  Math.abs(value) >= 1_000 ? whole.format(value) : threeDigits.format(value);

/** A duration in whole seconds, at least one: 40 s, 2 min 10 s, 1 h 5 min. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}${narrowSpace}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    const rest = seconds % 60;
    return rest === 0
      ? `${minutes}${narrowSpace}min`
      : `${minutes}${narrowSpace}min${wideSpace}${rest}${narrowSpace}s`;
  }
  const rest = minutes % 60;
  const hours = Math.floor(minutes / 60);
  return rest === 0
    ? `${hours}${narrowSpace}h`
    : `${hours}${narrowSpace}h${wideSpace}${rest}${narrowSpace}min`;
}

/** Formats an expected duration, rounded to its precision: 25 s, 2 min 30 s. */
export const formatEstimate = (ms: number): string => formatDuration(roundEstimate(ms));

/** The time since a moment, roughly: "just now", "3 min ago", "2 days ago". */
export function formatAgo(atMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1000));
  if (seconds < 45) return 'just now';
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes}${narrowSpace}min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours}${narrowSpace}h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

/** "1 instance", "4 instances". */
export const plural = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** The label of an axis tick: 0.1, 100, 1k, 10k, 1M. */
export function formatAxisCount(value: number): string {
  if (value >= 1e6) return `${threeDigits.format(value / 1e6)}M`;
  if (value >= 1e3) return `${threeDigits.format(value / 1e3)}k`;
  return threeDigits.format(value);
}

export type ClockPrecision = 'second' | 'tenth';

/** Elapsed time as a clock, rounded down as clocks do: 0:07, 12:30, 1:02:03; to the tenth: 0:01.5. */
export function formatClock(ms: number, to: ClockPrecision = 'second'): string {
  const tenths = Math.max(0, Math.floor(ms / 100));
  const seconds = Math.floor(tenths / 10);
  const two = (part: number) => String(part).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const end = to === 'tenth' ? `.${tenths % 10}` : '';
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}${end}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}${end}`;
}

/** Whole seconds are too coarse for the times of a range under ten seconds. */
export const clockPrecision = (rangeMs: number): ClockPrecision => (rangeMs < 10_000 ? 'tenth' : 'second');
