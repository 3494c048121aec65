/** The percentile file of HdrHistogram (`.hgrm`), which its plotter and others read. */
import type { LatencyMs } from '@shardlab/contract';

const percentiles = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p999', 0.999],
  ['max', 1],
] as const satisfies readonly (readonly [keyof LatencyMs, number])[];

/** Values in milliseconds. A row for each percentile that a run keeps, so the file is coarse between them. */
export function toHgrm(latency: LatencyMs): string {
  const rows = percentiles.map(([name, share]) => {
    const total = Math.round(latency.count * share);
    const inverse = share === 1 ? 'inf' : (1 / (1 - share)).toFixed(2);
    return [
      latency[name].toFixed(3).padStart(12),
      share.toFixed(12).padStart(14),
      String(total).padStart(10),
      inverse.padStart(14),
    ].join(' ');
  });
  return [
    `${'Value'.padStart(12)} ${'Percentile'.padStart(14)} ${'TotalCount'.padStart(10)} ${'1/(1-Percentile)'.padStart(14)}`,
    '',
    ...rows,
    `#[Max     = ${latency.max.toFixed(3).padStart(12)}, Total count    = ${String(latency.count).padStart(12)}]`,
    '',
  ].join('\n');
}
