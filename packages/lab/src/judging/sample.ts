/** Quantities with one value per repeat, and computations on several of them, repeat by repeat. */
import { type Interval, meanInterval, median, repeatsMin, welchRatioInterval } from '@shardlab/model';

export interface Sample {
  /** With five repeats or more the mean (the geometric mean if all are positive), with fewer the median, with none NaN. */
  value: number;
  repeats: readonly number[];
  /** The 95 % interval; null for fewer than five repeats. */
  interval: Interval | null;
  /** For each repeat, whether it was not steady: its rate still changed, or its backlog grew. Left out if all were steady. */
  notSteady?: readonly boolean[];
}

export function sampleOf(repeats: readonly number[], notSteady: readonly boolean[] = []): Sample {
  const sample = { value: centre(repeats), repeats, interval: meanInterval(repeats) };
  return notSteady.includes(true) ? { ...sample, notSteady } : sample;
}

/** Only the steady repeats, if they are enough for an interval; otherwise the sample as it is. */
export function steadyRepeatsOf(sample: Sample): Sample {
  const { repeats, notSteady } = sample;
  const steady = repeats.filter((_, index) => notSteady?.[index] !== true);
  return steady.length === repeats.length || steady.length < repeatsMin ? sample : sampleOf(steady);
}

/**
 * A value per repeat from the values of several quantities in that repeat. All of a run are measured in the same rounds, so a
 * slow minute of the machine affects all of them. If a quantity has fewer repeats than another, the last of the others are left out.
 */
export function combined(samples: readonly Sample[], compute: (values: readonly number[]) => number): Sample {
  const rounds = samples.length === 0 ? 0 : Math.min(...samples.map(({ repeats }) => repeats.length));
  const each = Array.from({ length: rounds }, (_, round) => round);
  return sampleOf(
    each.map((round) => compute(samples.map(({ repeats }) => repeats[round]!))),
    each.map((round) => samples.some(({ notSteady }) => notSteady?.[round] === true)),
  );
}

/** Pair by pair where both were measured in the same repeats; otherwise with Welch's interval. */
export function ratioOf(over: Sample, under: Sample): Sample {
  const paired = combined([over, under], ([a, b]) => a! / b!);
  if (over.repeats.length === under.repeats.length || paired.repeats.length < repeatsMin) return paired;
  return {
    ...paired,
    value: over.value / under.value,
    interval: welchRatioInterval(over.repeats, under.repeats),
  };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function centre(values: readonly number[]): number {
  if (values.length < repeatsMin) return median(values);
  if (values.every((value) => value > 0)) return geometricMean(values);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
