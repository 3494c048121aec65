/** Prints the waits of each session as databases do: event, times waited, longest wait, total, and Oracle's name of the event. */
import { explainedShare, type Point, paramInWords, type SessionWaits } from '@shardlab/contract';
import { waitEvents } from '@shardlab/engine';
import type { Program } from '../programs/program.ts';
import '../meters/load-waits.ts'; // registers what the lab's own sessions wait for
import { variedAndSorted } from './result-table.ts';

/** Empty if no point has such tables. */
export function sessionWaitsInWords(points: readonly Point[], program: Pick<Program, 'parameters'>): string {
  const { varied, sorted } = variedAndSorted(points, program);
  const tables = sorted.flatMap((point) => {
    if (point.sessionWaits === undefined) return [];
    const words = varied.map((parameter) => paramInWords(parameter, point.params[parameter.name]!));
    const title = [point.system, ...words].join(', ');
    return point.sessionWaits.map((session) => tableOf(title, session));
  });
  return tables.join('\n\n');
}

const columns = { event: 44, waits: 8, maxS: 11, totalS: 14 } as const;
const seconds = (ms: number) => (ms / 1_000).toFixed(2);

/** Empty for a state that is not a wait event, and for an event that Oracle does not have. */
const inOracle = (event: string) => waitEvents().find(({ name }) => name === event)?.standsFor ?? '';

/** "CPU 0.01 s of the client, 0.04 s of the instances" */
function cpuInWords({ cpuMs, cpuOf, instanceCpuMs }: SessionWaits): string {
  const whose = cpuOf === undefined ? '' : ` of the ${cpuOf}`;
  return `CPU ${seconds(cpuMs)} s${whose}${instanceCpuMs === undefined ? '' : `, ${seconds(instanceCpuMs)} s of the instances`}`;
}

/** Times are in seconds with two decimals, to be compared with the table of a document. */
function tableOf(title: string, table: SessionWaits): string {
  const { session, elapsedMs, roundTrips, rows } = table;
  const explained = explainedShare(table);
  const facts = [
    `elapsed ${seconds(elapsedMs)} s`,
    ...(roundTrips === undefined ? [] : [`${roundTrips} round trips`]),
    cpuInWords(table),
    ...(explained === null ? [] : [`${(100 * explained).toFixed(1)} % explained`]),
  ];
  const line = (event: string, waits: string, maxS: string, totalS: string, oracle: string) =>
    `  ${event.padEnd(columns.event)}${waits.padStart(columns.waits)}${maxS.padStart(columns.maxS)}${totalS.padStart(columns.totalS)}  ${oracle}`.trimEnd();
  return [
    `${title}: ${session}, ${facts.join(', ')}`,
    line('Event waited on', 'Times', 'Max. Wait', 'Total Waited', 'In Oracle'),
    ...rows.map(({ event, waits, maxMs, totalMs, emulated }) =>
      line(
        `${event}${emulated ? ' (emulated)' : ''}`,
        String(waits),
        seconds(maxMs),
        seconds(totalMs),
        inOracle(event),
      ),
    ),
  ].join('\n');
}
