/** The waits of a point's sessions, as tables like those of the study's document. */
import { type DocumentTable, explainedShare, type Point, type SessionWaits } from '@shardlab/contract';
import { rowsByName } from './document-tables.ts';
import { formatMs, plural } from './format.ts';

export interface WaitRow {
  event: string;
  waits: number;
  maxMs: number;
  totalMs: number;
  emulated: boolean;
}

export interface WaitTable {
  title: string;
  /** That the session took part in. */
  transactions: number;
  elapsedMs: number;
  cpuMs: number;
  /** Null for runs that did not say. */
  cpuOf: NonNullable<SessionWaits['cpuOf']> | 'server process' | null;
  /** CPU of the instances' processes, divided by the number of sessions; null if `cpuMs` is not the client's alone. */
  instanceCpuMs: number | null;
  /** Null where they were not counted. */
  roundTrips: number | null;
  /**
   * Share of the elapsed time explained by CPU, waits and waiting for a thread; null for a document's table, which leaves out
   * short waits.
   */
  explained: number | null;
  rows: readonly WaitRow[];
}

export interface WaitTables {
  here: readonly WaitTable[];
  /** The table of one session of the document's run that the point repeats. */
  document: WaitTable | null;
}

/** Undefined for points whose sessions have no tables. */
export function sessionWaitTables(
  { sessionWaits, params }: Pick<Point, 'sessionWaits' | 'params'>,
  tables: { runs: DocumentTable | undefined; waits: DocumentTable | undefined },
): WaitTables | undefined {
  if (sessionWaits === undefined || sessionWaits.length === 0) return undefined;
  const here = sessionWaits.map(
    (each): WaitTable => ({
      title: each.session,
      transactions: Number(params.messagesPerSession),
      elapsedMs: each.elapsedMs,
      cpuMs: each.cpuMs,
      cpuOf: each.cpuOf ?? null,
      instanceCpuMs: each.instanceCpuMs ?? null,
      roundTrips: each.roundTrips ?? null,
      explained: explainedShare(each),
      rows: each.rows,
    }),
  );
  const run = tables.runs && documentRunOf(params, rowsByName(tables.runs));
  if (run === undefined || tables.waits === undefined) return { here, document: null };
  const rows = rowsByName(tables.waits)
    .filter((row) => row.run === run.run)
    .map((row) => ({
      event: String(row.event),
      waits: Number(row.waits),
      maxMs: Number(row.maxS) * 1_000,
      totalMs: Number(row.totalS) * 1_000,
      emulated: false,
    }))
    .toSorted((a, b) => b.totalMs - a.totalMs);
  // The document gives CPU and round trips of each session; the table shows the totals.
  const ofEach = (ofAll: string) => Number(run[ofAll]) / Number(run.sessions);
  const document: WaitTable = {
    title: `${run.run}: ${run.title}`,
    transactions: ofEach('inserts'),
    elapsedMs: Number(run.elapsedS) * 1_000,
    cpuMs: ofEach('cpuS') * 1_000,
    cpuOf: 'server process',
    instanceCpuMs: null,
    roundTrips: ofEach('roundTrips'),
    explained: null,
    rows,
  };
  return { here, document };
}

/** "CPU 3 ms of the client, 40 ms of the instances": whose time it is differs from table to table. */
export function cpuInWords({ cpuMs, cpuOf, instanceCpuMs }: WaitTable): string {
  const whose = cpuOf === null ? '' : ` of ${cpuOf === 'server process' ? 'its' : 'the'} ${cpuOf}`;
  const instances = instanceCpuMs === null ? '' : `, ${formatMs(instanceCpuMs)} of the instances`;
  return `CPU ${formatMs(cpuMs)}${whose}${instances}`;
}

/**
 * The counted round trips, and the waits for them: a staged call leaves with the next one, but the emulated round trip is waited
 * for before each call.
 */
export function roundTripsInWords({ roundTrips, rows }: WaitTable): string {
  if (roundTrips === null) return '';
  const waited = rows.find(({ event, emulated }) => event === 'client round trip' && emulated)?.waits ?? 0;
  if (waited === roundTrips || waited === 0) return `, ${plural(roundTrips, 'round trip')}`;
  return `: ${plural(roundTrips, 'request')} left the client; the emulated round trip is waited for before each of ${plural(waited, 'call')}`;
}

type Row = ReturnType<typeof rowsByName>[number];

/** Columns that are parameters of the point too, apart from the time of a sync, which only decides between equal ones. */
const compared = ['transaction', 'instances', 'sessions', 'preparedBy'] as const;

/** The run with the parameters of the point; of several, the one with the closest syncs. Undefined if there is none. */
function documentRunOf(params: Point['params'], runs: readonly Row[]): Row | undefined {
  const distance = ({ syncMs }: Row) => Math.abs(Number(syncMs) - Number(params.syncMs));
  return runs
    .filter((row) => compared.every((name) => row[name] === null || row[name] === params[name]))
    .toSorted((a, b) => distance(a) - distance(b))[0];
}
