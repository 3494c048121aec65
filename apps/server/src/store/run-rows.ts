/** Converts runs to rows of the history and back. */
import { type ErrorBody, Run, type RunLabels, RunSummary } from '@shardlab/contract';
import { checkStored, parseStored, type Stored } from './stored-json.ts';

export interface RunRow {
  run_number: number;
  id: string;
  scenario_id: string;
  scenario_title: string;
  scenario: string;
  scale: string;
  status: string;
  created_at_ms: number;
  started_at_ms: number | null;
  ended_at_ms: number | null;
  updated_at_ms: number;
  progress: string;
  claims: string;
  environment: string | null;
  watched: number;
  error: string | null;
  name: string;
  note: string;
  baseline: number;
  imported: number;
}

type LabelColumns = 'name' | 'note' | 'baseline' | 'imported';

/** Converts a run without its labels, which are written separately. */
export function toRow(run: Run, updatedAtMs: number): Omit<RunRow, 'run_number' | LabelColumns> {
  return {
    id: run.id,
    scenario_id: run.scenario.id,
    scenario_title: run.scenario.title,
    scenario: JSON.stringify(run.scenario),
    scale: run.scale,
    status: run.status,
    created_at_ms: run.createdAtMs,
    started_at_ms: run.startedAtMs,
    ended_at_ms: run.endedAtMs,
    updated_at_ms: updatedAtMs,
    progress: JSON.stringify(run.progress),
    claims: JSON.stringify(run.claims),
    environment: run.environment === null ? null : JSON.stringify(run.environment),
    watched: Number(run.watched),
    error: run.error === null ? null : JSON.stringify(run.error),
  };
}

/** A run without its points, or why its row cannot be read. */
export function readRun(row: RunRow): Stored<Run> {
  return readParts(row, ['scenario', 'progress', 'claims', 'environment', 'error'], (part) =>
    checkStored<Run>(
      {
        id: row.id,
        scenario: part.scenario,
        scale: row.scale,
        status: row.status,
        createdAtMs: row.created_at_ms,
        startedAtMs: row.started_at_ms,
        endedAtMs: row.ended_at_ms,
        progress: part.progress,
        points: [],
        claims: part.claims,
        environment: part.environment,
        watched: row.watched === 1,
        error: part.error,
        ...ofUser(row),
      },
      Run,
    ),
  );
}

type JsonColumn = 'scenario' | 'progress' | 'claims' | 'environment' | 'error';

/** Parses the columns that hold JSON; the rest is done if all of them are. */
function readParts<Column extends JsonColumn, T>(
  row: Readonly<Record<Column, string | null>>,
  columns: readonly Column[],
  rest: (parts: Record<Column, unknown>) => Stored<T>,
): Stored<T> {
  const parts = {} as Record<Column, unknown>;
  for (const column of columns) {
    const text = row[column];
    const { value, damage } = text === null ? { value: null } : parseStored(text);
    if (damage !== undefined) return { damage: `its column ${column} ${damage}` };
    parts[column] = value;
  }
  return rest(parts);
}

/** The labels and origin of a run; empty if the run has none. */
function ofUser({
  name,
  note,
  baseline,
  imported,
}: Pick<RunRow, LabelColumns>): Pick<Run, 'labels' | 'imported'> {
  const labels: RunLabels = { name, note, baseline: baseline === 1 };
  const isLabelled = name !== '' || note !== '' || labels.baseline;
  return { ...(isLabelled ? { labels } : {}), ...(imported === 1 ? { imported: true } : {}) };
}

/** The columns that a list needs; scenario and environment, which may be long, are left out. */
export type SummaryRow = Omit<RunRow, 'scenario' | 'environment' | 'updated_at_ms' | 'watched'>;

export const summaryColumns = `run_number, id, scenario_id, scenario_title, scale, status, created_at_ms, started_at_ms, ended_at_ms,
  progress, claims, error, name, note, baseline, imported`;

export function readSummary(row: SummaryRow): Stored<RunSummary> {
  return readParts(row, ['progress', 'claims', 'error'], ({ progress, claims, error }) => {
    const verdicts = Array.isArray(claims) ? claims.map(toVerdict) : claims;
    return checkStored<RunSummary>(
      {
        id: row.id,
        scenarioId: row.scenario_id,
        scenarioTitle: row.scenario_title,
        scale: row.scale,
        status: row.status,
        createdAtMs: row.created_at_ms,
        startedAtMs: row.started_at_ms,
        endedAtMs: row.ended_at_ms,
        progress,
        verdicts,
        errorCode: (error as Partial<ErrorBody> | null)?.code,
        ...ofUser(row),
      },
      RunSummary,
    );
  });
}

const toVerdict = (claim: Partial<Run['claims'][number]> | null) => ({
  id: claim?.id,
  verdict: claim?.verdict,
  provisional: claim?.provisional,
});
