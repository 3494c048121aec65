import type { Bench } from './bench.ts';
import { type Table, tablesOf } from './tables.ts';

/** The results of a bench as text for a terminal. */
export function terminalReport(bench: Bench): string {
  return [...tablesOf(bench).flatMap(lines), ...notes(bench)].join('\n');
}

function lines({ title, head, rows }: Table): string[] {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (column === row.length - 1 ? 0 : row[column]!.length))),
  );
  const padded = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return ['', title, padded(head), ...rows.map(padded)];
}

function notes({ absent, failures }: Bench): string[] {
  return [
    '',
    ...absent.map(({ driver, durability, reason }) => `absent: ${driver}, ${durability}: ${reason}`),
    ...failures.map(({ trial, round, error }) => `failed: ${trial}, round ${round}: ${error}`),
  ];
}
