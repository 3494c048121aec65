/** Converts runs to rows of the history and back. */
import type { Run, RunLabels, RunSummary } from '@shardlab/contract';

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

export function toRun(row: RunRow, points: Run['points']): Run {
  return {
    id: row.id,
    scenario: JSON.parse(row.scenario),
    scale: row.scale as Run['scale'],
    status: row.status as Run['status'],
    createdAtMs: row.created_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    progress: JSON.parse(row.progress),
    points,
    claims: JSON.parse(row.claims),
    environment: row.environment === null ? null : JSON.parse(row.environment),
    watched: row.watched === 1,
    error: row.error === null ? null : JSON.parse(row.error),
    ...ofUser(row),
  };
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
export type SummaryRow = Omit<RunRow, 'scenario' | 'environment' | 'updated_at_ms' | 'watched' | 'error'> & {
  error_code: string | null;
};

export const summaryColumns = `run_number, id, scenario_id, scenario_title, scale, status, created_at_ms, started_at_ms, ended_at_ms,
  progress, claims, name, note, baseline, imported, error ->> '$.code' AS error_code`;

export function toSummary(row: SummaryRow): RunSummary {
  return {
    id: row.id,
    scenarioId: row.scenario_id,
    scenarioTitle: row.scenario_title,
    scale: row.scale as Run['scale'],
    status: row.status as Run['status'],
    createdAtMs: row.created_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    progress: JSON.parse(row.progress),
    verdicts: (JSON.parse(row.claims) as Run['claims']).map(({ id, verdict, provisional }) => ({
      id,
      verdict,
      provisional,
    })),
    ...(row.error_code === null ? {} : { errorCode: row.error_code }),
    ...ofUser(row),
  };
}
