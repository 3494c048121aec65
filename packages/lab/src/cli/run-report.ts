/** The results of one run, and the summary of several, as plain text. */
import { provenanceOf, type Run } from '@shardlab/contract';
import { isFaulty } from '../judging/judgement.ts';
import { bundledStudies } from '../studies/registry.ts';
import { conversionsInWords } from './conversion-words.ts';
import { durationInWords } from './duration.ts';
import { faultsInWords } from './fault-words.ts';
import { environmentInWords, resultTable, verdictsInWords } from './result-table.ts';
import { sessionWaitsInWords } from './session-waits.ts';

/** The parts of the report, separated by empty lines. */
export function reportInWords(run: Run): string {
  const { points, claims, environment, status } = run;
  const program = bundledStudies.program(run.scenario.program);
  const emulated = points.some((point) => provenanceOf(point) === 'emulated');
  const ended = `${status} after ${durationInWords(tookMs(run))}`;
  return [
    points.length > 0 ? resultTable(points, program) : 'No point was finished.',
    emulated
      ? 'Emulated points: the real engine, with calls, syncs or requests between instances delayed as their parameters say.'
      : '',
    sessionWaitsInWords(points, program),
    faultsInWords(points),
    conversionsInWords(points),
    verdictsInWords(claims),
    environment === null ? ended : `${environmentInWords(environment)}\n${ended}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** One line per run, then one line per verdict. */
export function summaryInWords(runs: readonly Run[], planned: number): string {
  const lines = runs.map((run) => {
    const faulty = run.points.filter(isFaulty).length;
    const integrity =
      faulty === 0 ? 'integrity ok' : `INTEGRITY VIOLATED at ${faulty} of ${run.points.length} points`;
    return [run.scenario.id, run.status, durationInWords(tookMs(run)), integrity];
  });
  const verdicts = runs.flatMap(({ scenario, claims }) =>
    claims.map(({ id, verdict, title }) => [id, verdict.replaceAll('-', ' '), title, scenario.id]),
  );
  const total = durationInWords(runs.reduce((sum, run) => sum + tookMs(run), 0));
  return `${runs.length} of ${planned} scenarios in ${total}\n\n${aligned(lines)}\n\n${aligned(verdicts)}`;
}

const tookMs = ({ startedAtMs, endedAtMs }: Run): number => (endedAtMs ?? 0) - (startedAtMs ?? 0);

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`.trimEnd())
    .join('\n');
}
