/** Combines the repeats of one combination into its point. */
import type { Point, Repeat } from '@shardlab/contract';
import { median } from '@shardlab/model';
import type { Combination } from '../scenario/expand-sweep.ts';
import { createHistogram, type Histogram, latencyOf } from './latency.ts';
import { addIntegrity } from './ledger.ts';
import type { TrialOutcome } from './run-trial.ts';
import { mergeWaits, summariseWaits } from './wait-totals.ts';

/**
 * Rates and CPU are medians over the repeats; latencies are percentiles of all repeats' merged histograms; waits and
 * integrity are sums over all repeats.
 */
export function summarisePoint(
  { implementation, params }: Combination,
  outcomes: readonly TrialOutcome[],
): Point {
  const repeats = outcomes.map(repeatOf);
  const instances = Array.from({ length: params.instances }, (_, index) => index);
  return {
    implementation,
    provenance: params.roundTripMs > 0 ? 'emulated' : 'measured',
    params,
    enqueuePerSec: rounded(median(repeats.map((repeat) => repeat.enqueuePerSec)), 1),
    dequeuePerSec: rounded(median(repeats.map((repeat) => repeat.dequeuePerSec)), 1),
    latencyMs: latencyOf(mergedHistogram(outcomes.map(({ latency }) => latency))),
    dequeueCallMs: latencyOf(mergedHistogram(outcomes.map(({ dequeueCall }) => dequeueCall))),
    cpuUsPerMessage: rounded(median(repeats.map((repeat) => repeat.cpuUsPerMessage)), 2),
    cpuShareByInstance: instances.map((index) =>
      rounded(median(outcomes.map(({ windows }) => windows[index]!.cpuUs / 1000 / windows[index]!.ms)), 3),
    ),
    dequeuePerSecByInstance: instances.map((index) =>
      rounded(
        median(outcomes.map(({ windows }) => (windows[index]!.consumed * 1000) / windows[index]!.ms)),
        1,
      ),
    ),
    waits: summariseWaits(mergeWaits(outcomes.map(({ waits }) => waits))),
    integrity: outcomes.map(({ integrity }) => integrity).reduce(addIntegrity),
    repeats,
  };
}

function repeatOf({ windows, waits, dequeueCall, disruption }: TrialOutcome): Repeat {
  // Each instance's count is divided by its own window, because windows differ by a turn of the event loop.
  const perSec = (counts: number[]) =>
    counts.reduce((sum, count, index) => sum + (count * 1000) / windows[index]!.ms, 0);
  const consumed = windows.reduce((sum, window) => sum + window.consumed, 0);
  const cpuUs = windows.reduce((sum, window) => sum + window.cpuUs, 0);
  return {
    enqueuePerSec: rounded(perSec(windows.map((window) => window.enqueued)), 1),
    dequeuePerSec: rounded(perSec(windows.map((window) => window.consumed)), 1),
    cpuUsPerMessage: consumed === 0 ? 0 : rounded(cpuUs / consumed, 2),
    measuredMs: rounded(Math.max(...windows.map((window) => window.ms)), 1),
    ...(dequeueCall.totalCount === 0 ? {} : callTimes(dequeueCall)),
    dequeuePerSecByInstance: windows.map(({ consumed, ms }) => rounded((consumed * 1000) / ms, 1)),
    waitMs: Object.fromEntries(summariseWaits(waits).map(({ event, totalMs }) => [event, totalMs])),
    ...disruption,
  };
}

const callTimes = (call: Histogram) => ({
  dequeueCallMeanMs: rounded(call.mean / 1000, 4),
  dequeueCallP50Ms: call.getValueAtPercentile(50) / 1000,
});

function mergedHistogram(histograms: readonly Histogram[]): Histogram {
  if (histograms.length === 1) return histograms[0]!;
  const merged = createHistogram();
  for (const histogram of histograms) merged.add(histogram);
  return merged;
}

const rounded = (value: number, digits: number) => Number(value.toFixed(digits));
