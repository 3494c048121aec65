/** An analytic system's report about a killed instance and a conversion. */
import type { Behaviour } from './analytic-system.ts';

export function disruptionOf(
  rate: number,
  { outageMs = 1, after = 1 }: { outageMs?: number; after?: number } = {},
): NonNullable<Behaviour['disruption']> {
  const rates = { before: rate, during: rate, after: rate * after };
  return {
    faults: [
      { kind: 'kill', instance: 2, atMs: 2_500, takeoverMs: outageMs, outageMs, dequeuePerSec: rates },
    ],
    conversion: {
      atMs: 2_000,
      tookMs: outageMs,
      steps: [],
      withoutEnqueueMs: outageMs,
      enqueuePerSec: rates,
      dequeuePerSec: rates,
    },
  };
}
