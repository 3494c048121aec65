/** What the sessions of a point waited for, as tables like those of the document that its study is about. */
import type { DocumentTable, Point } from '@shardlab/contract';
import { rowsByName } from './document-tables.ts';

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
  /** CPU and waits over the elapsed time; null for a document's, which leaves short waits out. */
  explained: number | null;
  rows: readonly WaitRow[];
}

export interface WaitTables {
  here: readonly WaitTable[];
  /** Of one session of the document's run that the point repeats. */
  document: WaitTable | null;
}

/** Undefined for points whose sessions have no tables. */
export function sessionWaitTables(
  { sessionWaits, params }: Pick<Point, 'sessionWaits' | 'params'>,
  tables: { runs: DocumentTable | undefined; waits: DocumentTable | undefined },
): WaitTables | undefined {
  if (sessionWaits === undefined || sessionWaits.length === 0) return undefined;
  const here = sessionWaits.map(({ session, elapsedMs, cpuMs, rows }): WaitTable => {
    const inAll = rows.reduce((sum, { totalMs }) => sum + totalMs, cpuMs);
    return {
      title: session,
      transactions: Number(params.messagesPerSession),
      elapsedMs,
      cpuMs,
      explained: elapsedMs > 0 ? inAll / elapsedMs : null,
      rows,
    };
  });
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
  const document: WaitTable = {
    title: `${run.run}: ${run.title}`,
    transactions: Number(run.inserts) / Number(run.sessions),
    elapsedMs: Number(run.elapsedS) * 1_000,
    // The document gives the CPU of each session, and the table that of all.
    cpuMs: (Number(run.cpuS) * 1_000) / Number(run.sessions),
    explained: null,
    rows,
  };
  return { here, document };
}

type Row = ReturnType<typeof rowsByName>[number];

/** Columns that are parameters of the point too, apart from the time of a sync, which only decides between equal ones. */
const compared = ['transaction', 'instances', 'sessions', 'preparedBy'] as const;

/** The run with the parameters of the point; of several, that whose syncs are closest. Undefined if there is none. */
function documentRunOf(params: Point['params'], runs: readonly Row[]): Row | undefined {
  const distance = ({ syncMs }: Row) => Math.abs(Number(syncMs) - Number(params.syncMs));
  return runs
    .filter((row) => compared.every((name) => row[name] === null || row[name] === params[name]))
    .toSorted((a, b) => distance(a) - distance(b))[0];
}
