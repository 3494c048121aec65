/** The report of a soak test. */
import type { SoakWindow } from './protocol.ts';
import type { SoakResult } from './run-soak.ts';

const number = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const mib = (bytes: number) => number(bytes / 1024 / 1024, 1);

export const soakHeader = '     s   messages/s   p50 ms   p99 ms   max ms   backlog   memory MiB   log MiB';

export function soakLine(
  window: SoakWindow,
  windowMs: number,
  memoryBytes: number,
  logBytes: number,
): string {
  const { atMs, consumed, latencyMs, backlog } = window;
  const cells: [string, number][] = [
    [number(atMs / 1_000), 6],
    [number((consumed / windowMs) * 1_000), 13],
    [number(latencyMs.p50, 2), 9],
    [number(latencyMs.p99, 2), 9],
    [number(latencyMs.max, 1), 9],
    [number(backlog), 10],
    [mib(memoryBytes), 13],
    [mib(logBytes), 10],
  ];
  return cells.map(([text, width]) => text.padStart(width)).join('');
}

export function soakReport(result: SoakResult): string {
  const { saturationPerSec, targetPerSec, share, rules, passed } = result;
  const width = Math.max(...rules.map(({ name }) => name.length));
  const lines = rules.map(
    ({ name, rule, measured, passed: ok }) =>
      `  ${ok ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${measured}   (${rule})`,
  );
  const load = `Maximum rate ${number(saturationPerSec)} messages/s; steady load at ${number(share * 100)} % of it, ${number(targetPerSec)}/s.`;
  return ['', load, ...lines, passed ? 'The soak test passed.' : 'THE SOAK TEST FAILED.'].join('\n');
}
