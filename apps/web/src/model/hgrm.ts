/** The percentile file of HdrHistogram (`.hgrm`), which its plotter and others read. */
import { type LatencyMs, percentileTicks } from '@shardlab/contract';

/** Percentiles that runs of earlier versions store. */
const fewTicks = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p999', 0.999],
  ['max', 1],
] as const satisfies readonly (readonly [keyof LatencyMs, number])[];

/** Values in milliseconds. */
export function toHgrm(latency: LatencyMs): string {
  const { count, max, distribution } = latency;
  const rows = rowsOf(latency).map(([valueMs, share]) =>
    [
      valueMs.toFixed(3).padStart(12),
      share.toFixed(12).padStart(14),
      String(Math.ceil(count * share)).padStart(10),
      (share === 1 ? 'inf' : (1 / (1 - share)).toFixed(2)).padStart(14),
    ].join(' '),
  );
  return [
    `${'Value'.padStart(12)} ${'Percentile'.padStart(14)} ${'TotalCount'.padStart(10)} ${'1/(1-Percentile)'.padStart(14)}`,
    '',
    ...rows,
    ...(distribution === undefined
      ? []
      : [
          footer(['Mean', distribution.mean.toFixed(3)], ['StdDeviation', distribution.deviation.toFixed(3)]),
        ]),
    footer(['Max', max.toFixed(3)], ['Total count', String(count)]),
    '',
  ].join('\n');
}

const footer = (...[first, second]: [[string, string], [string, string]]): string =>
  `#[${first[0].padEnd(7)} = ${first[1].padStart(12)}, ${second[0].padEnd(14)} = ${second[1].padStart(12)}]`;

function rowsOf(latency: LatencyMs): (readonly [valueMs: number, share: number])[] {
  const ticksUs = latency.distribution?.ticksUs;
  if (ticksUs === undefined) return fewTicks.map(([name, share]) => [latency[name], share]);
  const shares = percentileTicks(latency.count);
  return ticksUs.flatMap((us, index) => {
    const share = shares[index];
    return share === undefined ? [] : [[us / 1000, share]];
  });
}
