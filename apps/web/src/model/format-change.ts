/** Formats differences: with their sign, a minus that is as wide as a plus. */
import { formatMicros, formatValue } from './format.ts';

/** "+74 µs", "−1.2 ms" */
export function formatUsShort(us: number): string {
  const size = Math.abs(us);
  const text = size === 0 ? '0 µs' : formatMicros(size);
  return `${signOf(us)}${text}`;
}

/** Formats a ratio as a change: "+12 %", "−3.4 %" */
export function formatRatioChange(ratio: number): string {
  const percent = (ratio - 1) * 100;
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  return `${signOf(Number(percent.toFixed(digits)))}${Math.abs(percent).toFixed(digits)}\u202f%`;
}

/** Formats a ratio on an axis that is symmetric around 1: "30 ×", and "1/30 ×" on the other side. */
export const formatRatioTick = (ratio: number): string =>
  ratio < 1 ? `1/${formatValue(1 / ratio)}\u202f×` : `${formatValue(ratio)}\u202f×`;

const signOf = (value: number): string => (value > 0 ? '+' : value < 0 ? '−' : '±');
