/** The list of runs: filtered, in one of several orders, page by page. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunList, RunListQuery, RunSort, RunSummary } from '@shardlab/contract';
import type { LabDatabase } from './lab-database.ts';
import { readSummary, type SummaryRow, summaryColumns } from './run-rows.ts';
import type { Stored } from './stored-json.ts';

export type RunListOptions = Omit<RunListQuery, 'limit'> & { limit: number };

type Order = NonNullable<RunListQuery['order']>;

/** Later than any time and longer than any duration, milliseconds. */
const last = 9e15;

/**
 * SQL of the sort key, never null, so that a page can begin after the key of the previous page's last run. A waiting run sorts as
 * if it will start; a run that was cancelled before its start has the time at which it was requested.
 */
const keys: Readonly<Record<RunSort, (order: Order) => string>> = {
  added: () => 'run_number',
  started: () =>
    `coalesce(started_at_ms, CASE status WHEN 'queued' THEN ${last} + created_at_ms ELSE created_at_ms END)`,
  title: () => "lower(CASE name WHEN '' THEN scenario_title ELSE name END)",
  scale: () => 'scale',
  status: () => 'status',
  duration: (order) => `coalesce(ended_at_ms - started_at_ms, ${order === 'desc' ? -1 : last})`,
};

const searched =
  'lower(name || char(10) || note || char(10) || scenario_title || char(10) || scenario_id || char(10) || id)';

/** Runs that cannot be read are named in `damaged`. Ordered by `sort` and, where that is equal, by when they were added. `after` is the `next` of the page before. */
export async function listRuns(file: LabDatabase, options: RunListOptions): Promise<RunList> {
  const { sort = 'added', order = 'desc', limit, scenario, status, scale, origin } = options;
  const key = keys[sort](order);
  const after = options.after === undefined ? null : parsePage(options.after, sort);
  const rows = file
    .prepare(
      `SELECT ${summaryColumns}, ${key} AS sort_key FROM run
         WHERE (@afterNumber IS NULL OR (${key}, run_number) ${order === 'desc' ? '<' : '>'} (@afterKey, @afterNumber))
         AND (@scenario IS NULL OR scenario_id = @scenario)
         AND (@status IS NULL OR status = @status)
         AND (@scale IS NULL OR scale = @scale)
         AND (@imported IS NULL OR imported = @imported)
         AND (@text = '' OR instr(${searched}, @text) > 0)
         ORDER BY sort_key ${order}, run_number ${order} LIMIT @limit`,
    )
    .all({
      afterNumber: after?.runNumber ?? null,
      afterKey: after?.key ?? null,
      scenario: scenario ?? null,
      status: status ?? null,
      scale: scale ?? null,
      imported: origin === undefined ? null : Number(origin === 'imported'),
      text: options.text?.toLowerCase() ?? '',
      limit: limit + 1,
    }) as (SummaryRow & { sort_key: string | number })[];
  const page = rows.slice(0, limit);
  const lastRow = page.at(-1);
  const next = rows.length > page.length && lastRow !== undefined ? formatPage(lastRow, sort) : null;
  const read = await inTurns(page);
  return {
    runs: read.flatMap(({ value }) => value ?? []),
    damaged: read.flatMap(({ id, damage }) => (damage === undefined ? [] : { id, damage })),
    next,
  };
}

/** Characters of JSON that are parsed in one turn of the event loop: about a millisecond. */
const unitsPerTurn = 128 * 1024;

/** Lets other work run between runs with many verdicts. */
async function inTurns(rows: readonly SummaryRow[]): Promise<({ id: string } & Stored<RunSummary>)[]> {
  const read: ({ id: string } & Stored<RunSummary>)[] = [];
  let units = 0;
  for (const row of rows) {
    units += row.claims.length;
    if (units > unitsPerTurn) {
      await nextTurn();
      units = row.claims.length;
    }
    read.push({ id: row.id, ...readSummary(row) });
  }
  return read;
}

/** The number of the last run and, where that is another, its key: `812` or `812.MTcwMDAw`. */
function formatPage(
  { run_number, sort_key }: { run_number: number; sort_key: string | number },
  sort: RunSort,
) {
  if (sort === 'added') return String(run_number);
  return `${run_number}.${Buffer.from(String(sort_key)).toString('base64url')}`;
}

/** A page token of another sort order is accepted: the position that it gives is arbitrary, as the description of `after` says. */
function parsePage(after: string, sort: RunSort): { runNumber: number; key: string | number } {
  const [number, encoded = ''] = after.split('.');
  const runNumber = Number(number);
  if (sort === 'added') return { runNumber, key: runNumber };
  const text = Buffer.from(encoded, 'base64url').toString();
  return { runNumber, key: sort === 'started' || sort === 'duration' ? Number(text) : text };
}
