/** Points as a plain-text table, and verdicts as paragraphs. */
import type { ClaimResult, Environment, Integrity, Point } from '@shardlab/contract';

const number = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Integers from 100 on, otherwise three significant digits, so that small shares do not become 0. */
const figure = (value: number) =>
  Math.abs(value) >= 100 ? number(value) : String(Number(value.toPrecision(3)));

interface Column {
  title: string;
  cell: (point: Point) => string;
  left?: boolean;
}

/** Columns shown only if the points differ in them. */
const varied: readonly Column[] = [
  { title: 'ops/tx', cell: ({ params }) => number(params.operationsPerTransaction) },
  { title: 'bytes', cell: ({ params }) => number(params.payloadBytes) },
  { title: 'subs', cell: ({ params }) => optional(params.subscribers) },
  { title: 'backlog', cell: ({ params }) => optional(params.backlog) },
  { title: 'durability', cell: ({ params }) => params.durability ?? '', left: true },
  { title: 'rows', cell: ({ params }) => params.rows ?? '', left: true },
  { title: 'dequeuers', cell: ({ params }) => params.dequeuers ?? '', left: true },
  { title: 'cache MiB', cell: ({ params }) => optional(params.cacheMiB) },
];
const optional = (value: number | undefined) => (value === undefined ? '' : number(value));

const columns: readonly Column[] = [
  { title: 'queue', cell: ({ implementation }) => implementation, left: true },
  { title: 'inst', cell: ({ params }) => number(params.instances) },
  { title: 'threads', cell: ({ params }) => number(params.threads) },
  { title: 'rtt ms', cell: ({ params }) => String(params.roundTripMs) },
  { title: 'enq/s', cell: ({ enqueuePerSec }) => number(enqueuePerSec) },
  { title: 'deq/s', cell: ({ dequeuePerSec }) => number(dequeuePerSec) },
  { title: 'p50 ms', cell: ({ latencyMs }) => number(latencyMs.p50, 2) },
  { title: 'p99 ms', cell: ({ latencyMs }) => number(latencyMs.p99, 2) },
  { title: 'call p99', cell: ({ dequeueCallMs }) => number(dequeueCallMs.p99, 3) },
  { title: 'CPU µs/msg', cell: ({ cpuUsPerMessage }) => number(cpuUsPerMessage, 1) },
  { title: 'top wait event', cell: (point) => topWait(point), left: true },
  { title: 'integrity', cell: ({ integrity }) => integrityInWords(integrity), left: true },
];

/** Queue, instances, threads and round trip. The columns of `varied` follow these. */
const identityColumns = 4;

/** One line per point, sorted so that the points of a curve are adjacent. */
export function resultTable(points: readonly Point[]): string {
  const sorted = [...points].sort(
    (a, b) =>
      a.params.roundTripMs - b.params.roundTripMs ||
      a.implementation.localeCompare(b.implementation) ||
      a.params.instances - b.params.instances ||
      a.params.threads - b.params.threads,
  );
  const shownVaried = varied.filter(({ cell }) => new Set(points.map(cell)).size > 1);
  const shown = [...columns.slice(0, identityColumns), ...shownVaried, ...columns.slice(identityColumns)];
  const rows = [
    shown.map(({ title }) => title),
    ...sorted.map((point) => shown.map(({ cell }) => cell(point))),
  ];
  const widths = shown.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          shown[column]!.left ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function topWait({ waits }: Point): string {
  return waits.find((wait) => wait.class !== 'idle' && !wait.emulated)?.event ?? '';
}

function integrityInWords(integrity: Integrity): string {
  const faults = [
    [integrity.lost, 'LOST'],
    [integrity.duplicated, 'DUPLICATED'],
    [integrity.damaged, 'DAMAGED'],
    [integrity.outOfOrder, 'OUT OF ORDER'],
    [integrity.left, 'left'],
  ] as const;
  const present = faults.filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`);
  return present.length === 0 ? 'ok' : present.join(', ');
}

export function verdictsInWords(claims: readonly ClaimResult[]): string {
  return claims
    .map((claim) => {
      const value = claim.value === null ? '' : `: ${figure(claim.value)} ${claim.unit}`;
      const [low, high] = claim.interval ?? [];
      const interval = low === undefined || high === undefined ? '' : ` (${figure(low)} to ${figure(high)})`;
      return `${claim.id} ${claim.verdict.toUpperCase().replaceAll('-', ' ')}${value}${interval}\n   ${claim.title}. ${claim.reason}`;
    })
    .join('\n');
}

export function environmentInWords(environment: Environment): string {
  const { cores, cpuModel, memoryGiB, fileSystem, syncMs, node, sqlite, loadAverage } = environment;
  return `${cores} × ${cpuModel}, ${memoryGiB} GiB, ${fileSystem} (sync ${syncMs.p50} ms, p99 ${syncMs.p99} ms), Node ${node}, SQLite ${sqlite}, load ${loadAverage}`;
}
