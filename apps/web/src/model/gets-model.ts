/** Gets of a mutex or latch for each dequeue over the pairs of sessions: the formula, the document's table and ours. */
import { type DocumentTable, figureOf, numberParam, type Point } from '@shardlab/contract';
import { rowsByName } from './document-tables.ts';
import { formatCount } from './format.ts';
import type { ScalingSeries } from './scaling-series.ts';

export type Guard = 'mutex' | 'latch';

export interface GetsRow {
  pairs: number;
  formula: number;
  document: number | null;
  ours: number | null;
  misses: number | null;
  sleeps: number | null;
  wakeUps: number | null;
  postsPerWakeUp: number | null;
}

/** Points that listen on one copy, the document's case, ordered by their pairs. */
const listeningPoints = (points: readonly Point[]) =>
  new Map(
    points
      .filter(({ params }) => params.method === 'listen' && numberParam(params, 'copies') <= 1)
      .map((point) => [numberParam(point.params, 'pairs'), point] as const),
  );

/** A row for each number of pairs that the document or a point has. */
export function getsRows(
  points: readonly Point[],
  guard: Guard,
  tables: { pairs: DocumentTable; model: DocumentTable },
): GetsRow[] {
  const perSession = rowsByName(tables.model).find((row) => row.guard === guard)?.getsPerSession;
  const document = new Map(
    rowsByName(tables.pairs).map((row) => [row.pairs, row[`${guard}GetsPerDequeue`]] as const),
  );
  const ours = listeningPoints(points);
  const pairs = [...new Set([...document.keys(), ...ours.keys()])].filter((each) => typeof each === 'number');
  return pairs
    .sort((a, b) => a - b)
    .map((each) => {
      const point = ours.get(each);
      const figure = (name: string) => (point?.figures[name] === undefined ? null : figureOf(point, name));
      const stated = document.get(each);
      return {
        pairs: each,
        formula: Number(perSession ?? 0) * each,
        document: typeof stated === 'number' ? stated : null,
        ours: figure(`${guard}GetsPerDequeue`),
        misses: figure(`${guard}Misses`),
        sleeps: figure(`${guard}Sleeps`),
        wakeUps: figure('wakeUpsPerDequeue'),
        postsPerWakeUp: figure('postsPerWakeUp'),
      };
    });
}

export function getsSeries(rows: readonly GetsRow[], guard: Guard): ScalingSeries[] {
  const series = (
    system: string,
    read: (row: GetsRow) => number | null,
    drawnAs?: 'simulated',
  ): ScalingSeries => ({
    id: `${guard}/${system}`,
    system,
    instances: system === 'measured here' ? 1 : 2,
    roundTripMs: system === 'the document' ? 1 : 0,
    otherParams: [],
    points: rows.flatMap((row) => {
      const value = read(row);
      return value === null || value <= 0
        ? []
        : [{ key: `${guard}/${system}/${row.pairs}`, x: row.pairs, value }];
    }),
    ...(drawnAs === undefined ? {} : { drawnAs }),
  });
  return [
    series('the formula', ({ formula }) => formula, 'simulated'),
    series('the document', ({ document }) => document),
    series('measured here', ({ ours }) => ours),
  ].filter(({ points }) => points.length > 0);
}

/** Why ours differs at the most pairs: "At 16 pairs 62 % of the formula: 5.2 wake-ups a dequeue instead of 16, 3.1 posts in each." */
export function deviationInWords(rows: readonly GetsRow[]): string {
  const last = rows.findLast(({ ours }) => ours !== null);
  if (last === undefined) return '';
  const share = `At ${last.pairs} pairs we count ${Math.round(((last.ours ?? 0) / last.formula) * 100)} % of the formula`;
  const wakes =
    last.wakeUps === null
      ? ''
      : `: ${last.wakeUps.toFixed(1)} wake-ups a dequeue instead of ${last.pairs}, because posts fall together (${(last.postsPerWakeUp ?? 0).toFixed(1)} in a wake-up)`;
  return `${share}${wakes}; ${formatCount(last.misses ?? 0)} misses and ${formatCount(last.sleeps ?? 0)} sleeps.`;
}

/** False wake-ups per dequeue, derived from a table's gets under the assumption that only wake-ups cause additional gets. */
export interface WakeUpRow {
  pairs: number;
  document: Record<Guard, number> | null;
  here: Record<Guard, number> | null;
  /** False wake-ups as sessions here counted them. */
  counted: number | null;
}

/** Rows in the order of the pairs. The two guards of a row would agree if false wake-ups were all there is. */
export function wakeUpRows(
  points: readonly Point[],
  tables: { pairs: DocumentTable; model: DocumentTable },
): WakeUpRow[] {
  const model = rowsByName(tables.model);
  const ours = listeningPoints(points);
  const document = new Map(rowsByName(tables.pairs).map((row) => [Number(row.pairs), row] as const));
  const fromGets = (getsOf: (guard: Guard) => number): Record<Guard, number> => {
    const of = (guard: Guard) => {
      const row = model.find((each) => each.guard === guard);
      return (getsOf(guard) - Number(row?.getsWokenOnce)) / Number(row?.getsPerSession);
    };
    return { mutex: of('mutex'), latch: of('latch') };
  };
  return [...new Set([...document.keys(), ...ours.keys()])]
    .sort((a, b) => a - b)
    .map((pairs) => {
      const stated = document.get(pairs);
      const point = ours.get(pairs);
      return {
        pairs,
        document:
          stated === undefined
            ? null
            : fromGets((guard) => Number(stated[`${guard}Gets`]) / Number(stated.messages)),
        here: point === undefined ? null : fromGets((guard) => figureOf(point, `${guard}GetsPerDequeue`)),
        counted: point === undefined ? null : figureOf(point, 'falseWakeUpsPerDequeue'),
      };
    });
}
