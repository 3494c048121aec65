/** The tables of a bench as rows of text, for the terminal and for the document. */
import type { Bench } from './bench.ts';
import { faultsOf, type Result } from './results.ts';
import type { Spread } from './spread.ts';

export interface Table {
  title: string;
  head: string[];
  rows: string[][];
}

const whole = (value: number) => Math.round(value).toLocaleString('en');
function spread(value: Spread | null): string {
  if (value === null) return '–';
  const { median, min, max } = value;
  return min === max ? whole(median) : `${whole(median)} (${whole(min)}–${whole(max)})`;
}
const cpu = (value: number | null) => (value === null ? '–' : value.toFixed(1));
const ms = (value: number) => value.toFixed(2);
const figure = (value: number) => (value >= 100 ? whole(value) : value.toFixed(2));

export function tablesOf(bench: Bench): Table[] {
  const of = (phase: Result['phase']) => bench.results.filter((result) => result.phase === phase);
  return [
    targetTable(bench),
    rateTable('Both at once', of('both at once')),
    rateTable('Enqueue only', of('enqueue only')),
    rateTable('Dequeue only, from a backlog that another process enqueued', of('dequeue only')),
    latencyTable(of('open loop')),
    standingTable(of('standing backlog')),
    rawTable(bench),
  ].filter(({ rows }) => rows.length > 0);
}

function targetTable({ targets }: Bench): Table {
  return {
    title: 'Targets',
    head: ['target', 'wanted', 'measured', '', 'from'],
    rows: targets.map(({ name, target, bound, value, met, reason }) => [
      name,
      `${bound} ${figure(target)}`,
      value === null ? '–' : figure(value),
      met ? 'met' : 'not met',
      reason,
    ]),
  };
}

const nameOf = ({ driver, instances, subscribers, durability, synced }: Result) =>
  [
    subscribers > 0 ? `${driver}, topic with ${subscribers} subscribers` : driver,
    instances > 1 ? ` × ${instances}` : '',
    `, ${durability}`,
    synced ? '' : ' (no sync)',
  ].join('');

function rateTable(title: string, results: readonly Result[]): Table {
  return {
    title,
    head: ['system', 'sessions', 'per transaction', 'where', 'enqueues/s', 'dequeues/s', 'CPU µs', 'faults'],
    rows: results.map((result) => [
      nameOf(result),
      `${result.enqueuers} + ${result.dequeuers}`,
      String(result.operationsPerTransaction),
      result.placement,
      spread(result.spread.enqueuePerSec),
      spread(result.spread.dequeuePerSec),
      cpu(result.cpuUsPerMessage),
      String(faultsOf(result.integrity)),
    ]),
  };
}

function latencyTable(results: readonly Result[]): Table {
  return {
    title: 'Latency, open loop: from the intended send time to the delivery',
    head: [
      'system',
      'where',
      'sent/s',
      'delivered/s',
      'per transaction',
      'p50 ms',
      'p99 ms',
      'schedule lag p99 ms',
      'event-loop delay p99 ms',
      'faults',
    ],
    rows: results.map((result) => [
      nameOf(result) + (result.emulatedSyncMs > 0 ? `, emulated sync of ${result.emulatedSyncMs} ms` : ''),
      result.placement,
      whole(result.intendedPerSec ?? 0),
      whole(result.dequeuePerSec ?? 0),
      String(result.operationsPerTransaction),
      result.latencyMs === null ? '–' : ms(result.latencyMs.p50),
      result.latencyMs === null ? '–' : ms(result.latencyMs.p99),
      result.scheduleLagMs === null ? '–' : ms(result.scheduleLagMs.p99),
      ms(result.eventLoopDelayMs.p99),
      String(faultsOf(result.integrity)),
    ]),
  };
}

function standingTable(results: readonly Result[]): Table {
  return {
    title: 'Standing backlog, after kill -9 and a cold start',
    head: ['backlog', 'ready after ms', 'enqueues/s', 'dequeues/s', 'CPU µs', 'resident MiB', 'faults'],
    rows: results.map((result) => [
      whole(result.backlog),
      whole(result.openMs),
      spread(result.spread.enqueuePerSec),
      spread(result.spread.dequeuePerSec),
      cpu(result.cpuUsPerMessage),
      whole(result.residentMiB),
      String(faultsOf(result.integrity)),
    ]),
  };
}

function rawTable({ rawLimit }: Bench): Table {
  return {
    title: 'Raw limit of SQLite, synchronous = FULL, one process, without a queue',
    head: ['cycle', 'rows per transaction', 'page', 'rows/s', 'CPU µs per row'],
    rows: rawLimit.map(({ cycle, operationsPerTransaction, pageBytes, rowsPerSec, cpuUsPerRow }) => [
      cycle,
      String(operationsPerTransaction),
      `${pageBytes / 1024} KiB`,
      spread(rowsPerSec),
      cpu(cpuUsPerRow.median),
    ]),
  };
}
