/** The provenance of a chart's figures, as a sentence below every saved chart. */
import { type Hardware, provenanceOf, type Run } from '@shardlab/contract';
import { formatValue, plural } from './format.ts';

export function runProvenance(run: Run): string {
  const { environment, points, scale, startedAtMs, createdAtMs } = run;
  const provenance = [...new Set(points.map(provenanceOf))].join(' and ') || 'measured';
  const repeats = Math.max(0, ...points.map((point) => point.repeats.length));
  const machine =
    environment === null
      ? ''
      : ` ${environment.cores} × ${environment.cpuModel}, ${environment.fileSystem}, Node ${environment.node}, SQLite ${environment.sqlite}, commit ${environment.commit?.slice(0, 10) ?? 'unknown'}, load ${formatValue(environment.loadAverage)} before the run.`;
  return `Shardlab, ${run.scenario.id}: ${provenance}, scale ${scale}, ${plural(repeats, 'repeat')}.${machine} ${utcMinute(startedAtMs ?? createdAtMs)}, run ${run.id.slice(0, 8)}.`;
}

/** Provenance of a figure without points: the axes of a scenario's plan, and its document's statements. */
export const plannedProvenance = (what: string): string =>
  `Shardlab, ${what}: the plan; nothing is measured.`;

/** Provenance of a server's own live values. `host`: its address; `atMs`: the time of the newest value, epoch milliseconds. */
export const liveProvenance = (what: string, { host, atMs }: { host: string; atMs: number }): string =>
  `Shardlab, ${what} of the server at ${host}, as of ${utcMinute(atMs)}.`;

/**
 * Provenance of the model's values. `settings`: in words; `measured`: provenance of the measured values beside them, null for
 * none.
 */
export function simulatedProvenance(
  { title, calibratedAtMs }: Pick<Hardware, 'title' | 'calibratedAtMs'>,
  { settings, measured, nowMs }: { settings: string; measured: string | null; nowMs: number },
): string {
  const calibrated = calibratedAtMs === undefined ? '' : `, calibrated ${utcMinute(calibratedAtMs)}`;
  return [
    `Shardlab, simulated with the costs of ${title}${calibrated}; ${utcMinute(nowMs)}.`,
    ...(settings === '' ? [] : [`${settings}.`]),
    ...(measured === null ? [] : [`Measured values: ${measured}`]),
  ].join(' ');
}

/** "2026-02-03 04:05 UTC"; of a number that is no date, as runs of earlier versions may have, "at an unknown time". */
export function utcMinute(atMs: number): string {
  const date = new Date(atMs);
  if (Number.isNaN(date.getTime())) return 'at an unknown time';
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
