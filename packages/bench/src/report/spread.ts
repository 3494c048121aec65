export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** `values` must not be empty. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}
