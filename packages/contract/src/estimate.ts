/** Rounds an estimated duration to its precision, milliseconds: "about 2 min 30 s" instead of "2 min 33 s". */
export function roundEstimate(ms: number): number {
  const [, stepMs] = steps.find(([below]) => ms < below)!;
  return Math.max(1, Math.round(ms / stepMs)) * stepMs;
}

/** Rounding steps, each used below a duration, milliseconds. */
const steps: readonly (readonly [below: number, stepMs: number])[] = [
  [10_000, 1_000],
  [120_000, 5_000],
  [600_000, 30_000],
  [Number.POSITIVE_INFINITY, 60_000],
];
