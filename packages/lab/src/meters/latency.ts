/** HDR histograms in microseconds with three significant digits, and their transfer between processes. */
import type { LatencyMs } from '@shardlab/contract';
import { percentileTicks } from '@shardlab/contract/plain';
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';

export type { Histogram };

/** One hour, far longer than phases and bounded backlogs allow; longer durations are recorded as one hour. */
const longestUs = 3_600_000_000;

export function createHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: longestUs,
    numberOfSignificantValueDigits: 3,
  });
}

/** Records a duration given in milliseconds, `count` times. */
export function recordMs(histogram: Histogram, ms: number, count = 1): void {
  histogram.recordValueWithCount(Math.min(longestUs, Math.max(0, Math.round(ms * 1000))), count);
}

export const encodeHistogram = (histogram: Histogram): string => encodeIntoCompressedBase64(histogram);

/** Merges several encoded histograms: percentiles are read from the merged counts, never averaged. */
export function mergeHistograms(encoded: readonly string[]): Histogram {
  const merged = createHistogram();
  for (const text of encoded) merged.add(decodeFromCompressedBase64(text));
  return merged;
}

export function latencyOf(histogram: Histogram): LatencyMs {
  const count = histogram.totalCount;
  const at = (percentile: number) => (count === 0 ? 0 : histogram.getValueAtPercentile(percentile) / 1000);
  return {
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: count === 0 ? 0 : histogram.maxValue / 1000,
    count,
  };
}

/** The latency with its whole distribution: about 500 bytes as JSON, for any number of values. */
export function wholeLatencyOf(histogram: Histogram): LatencyMs {
  const latency = latencyOf(histogram);
  if (latency.count === 0) return latency;
  return {
    ...latency,
    distribution: {
      mean: Number((histogram.mean / 1000).toPrecision(5)),
      deviation: Number((histogram.stdDeviation / 1000).toPrecision(5)),
      ticksUs: percentileTicks(latency.count).map((share) => histogram.getValueAtPercentile(share * 100)),
    },
  };
}
