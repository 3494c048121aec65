/** The bench as text for a terminal. */
import type { Bench } from './run-bench.ts';

const whole = (value: number) => Math.round(value).toLocaleString('en');

export function reportOf(bench: Bench): string {
  const lines = [
    '',
    'raw limit, FULL                          rows/s (lowest to highest)        CPU µs a row',
  ];
  for (const { cycle, operationsPerTransaction, pageBytes, rowsPerSec, cpuUsPerRow } of bench.rawLimit) {
    const name = `${cycle} × ${operationsPerTransaction}, ${pageBytes / 1024} KiB pages`;
    const spread = `${whole(rowsPerSec.median)} (${whole(rowsPerSec.min)} to ${whole(rowsPerSec.max)})`;
    lines.push(`${name.padEnd(41)}${spread.padEnd(34)}${cpuUsPerRow.median.toFixed(1)}`);
  }
  lines.push(
    '',
    'engine, durable, both at once           dequeues/s (lowest to highest)    CPU µs a message   p50 / p99 ms     faults',
  );
  for (const result of bench.results) {
    const { median, min, max } = result.spread.dequeuePerSec;
    const { lost, duplicated, damaged, outOfOrder } = result.integrity;
    lines.push(
      [
        `${result.name} (${result.sessions} sessions)`.padEnd(40),
        `${whole(median)} (${whole(min)} to ${whole(max)})`.padEnd(34),
        result.cpuUsPerMessage.toFixed(1).padEnd(19),
        `${result.latencyMs.p50.toFixed(2)} / ${result.latencyMs.p99.toFixed(2)}`.padEnd(17),
        lost + duplicated + damaged + outOfOrder,
      ].join(''),
    );
  }
  lines.push('', 'target                        wanted  measured');
  for (const { name, target, value, met, reason } of bench.targets) {
    const measured = value === null ? '–' : value.toFixed(2);
    lines.push(
      `${name.padEnd(30)}${`≥ ${target}`.padEnd(8)}${measured.padEnd(8)}${met ? 'met' : 'not met'}   ${reason}`,
    );
  }
  return lines.join('\n');
}
