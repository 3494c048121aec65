/** A run as a table for spreadsheets and scripts: one row per point, with all parameters and figures. */
import type { Point, Run } from '@shardlab/contract';

type Cell = string | number | null;

const percentiles = ['p50', 'p90', 'p99', 'p999', 'max', 'count'] as const;

/** RFC 4180 with a header line. Times are milliseconds, rates per second; a list is one cell, separated by spaces. */
export function runToCsv(run: Run): string {
  const waitEvents = [
    ...new Set(run.points.flatMap((point) => point.waits.map((wait) => wait.event))),
  ].sort();
  const rows = run.points.map((point) => pointCells(run, point, waitEvents));
  const header = rows[0]?.map(([name]) => name) ?? pointColumnsOfEmptyRun;
  const lines = [header, ...rows.map((row) => row.map(([, cell]) => cell))];
  return lines.map((line) => `${line.map(quote).join(',')}\r\n`).join('');
}

const pointColumnsOfEmptyRun = ['run', 'scenario', 'scale', 'status', 'implementation'];

function pointCells(run: Run, point: Point, waitEvents: readonly string[]): [name: string, cell: Cell][] {
  const { params, integrity, latencyMs, dequeueCallMs } = point;
  return [
    ['run', run.id],
    ['scenario', run.scenario.id],
    ['scale', run.scale],
    ['status', run.status],
    ['implementation', point.implementation],
    ['provenance', point.provenance],
    ...Object.entries(params),
    ['enqueuePerSec', point.enqueuePerSec],
    ['dequeuePerSec', point.dequeuePerSec],
    ...percentiles.map((name): [string, Cell] => [`latencyMs.${name}`, latencyMs[name]]),
    ...percentiles.map((name): [string, Cell] => [`dequeueCallMs.${name}`, dequeueCallMs[name]]),
    ['cpuUsPerMessage', point.cpuUsPerMessage],
    ['cpuShareByInstance', point.cpuShareByInstance.join(' ')],
    ['dequeuePerSecByInstance', point.dequeuePerSecByInstance.join(' ')],
    ...Object.entries(integrity).map(([name, count]): [string, Cell] => [`integrity.${name}`, count]),
    ['repeats', point.repeats.length],
    ['repeats.dequeuePerSec', point.repeats.map((repeat) => repeat.dequeuePerSec).join(' ')],
    ['repeats.enqueuePerSec', point.repeats.map((repeat) => repeat.enqueuePerSec).join(' ')],
    ...waitEvents.flatMap((event): [string, Cell][] => {
      const wait = point.waits.find((candidate) => candidate.event === event);
      return [
        [`waits.${event}.class`, wait?.class ?? null],
        [`waits.${event}.count`, wait?.waits ?? null],
        [`waits.${event}.totalMs`, wait?.totalMs ?? null],
        [`waits.${event}.p99Ms`, wait?.p99Ms ?? null],
        [`waits.${event}.emulated`, wait === undefined ? null : String(wait.emulated)],
      ];
    }),
  ];
}

function quote(cell: Cell): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
