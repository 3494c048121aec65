/** Where the figures of a run come from, in a sentence that stands below every saved chart. */
import { provenanceOf, type Run } from '@shardlab/contract';
import { formatValue, plural } from './format.ts';

export function runProvenance(run: Run): string {
  const { environment, points, scale, startedAtMs, createdAtMs } = run;
  const provenance = [...new Set(points.map(provenanceOf))].join(' and ') || 'measured';
  const repeats = Math.max(0, ...points.map((point) => point.repeats.length));
  const machine =
    environment === null
      ? ''
      : ` ${environment.cores} × ${environment.cpuModel}, ${environment.fileSystem}, Node ${environment.node}, SQLite ${environment.sqlite}, commit ${environment.commit?.slice(0, 10) ?? 'unknown'}, load ${formatValue(environment.loadAverage)} before the run.`;
  const when = new Date(startedAtMs ?? createdAtMs).toISOString().slice(0, 16).replace('T', ' ');
  return `Shardlab, ${run.scenario.id}: ${provenance}, scale ${scale}, ${plural(repeats, 'repeat')}.${machine} ${when} UTC, run ${run.id.slice(0, 8)}.`;
}
