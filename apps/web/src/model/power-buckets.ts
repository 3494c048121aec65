/** Histograms by powers of two: element i is the count of bucket i; missing elements are 0. */
export type PowerBuckets = readonly number[];

/** Shares of each histogram's total over the buckets that any of them uses, with one empty bucket on each side where there is one. */
export function sharesOf(histograms: readonly PowerBuckets[]): {
  first: number;
  count: number;
  shares: number[][];
} {
  const used = histograms.flatMap((counts) => counts.flatMap((count, bucket) => (count > 0 ? [bucket] : [])));
  if (used.length === 0) return { first: 0, count: 0, shares: histograms.map(() => []) };
  const first = Math.max(0, Math.min(...used) - 1);
  const count = Math.max(...used) + 2 - first;
  const shares = histograms.map((counts) => {
    const total = counts.reduce((sum, each) => sum + each, 0);
    return Array.from({ length: count }, (_, index) =>
      total === 0 ? 0 : (counts[first + index] ?? 0) / total,
    );
  });
  return { first, count, shares };
}

/** Index of the bucket in which the middle value lies, from shares; null if all are 0. */
export function middleBucket(shares: readonly number[]): number | null {
  let below = 0;
  const index = shares.findIndex((share) => {
    below += share;
    return share > 0 && below >= 0.5;
  });
  return index === -1 ? null : index;
}

/** A document's counts, from the value of its first bucket on, as buckets from 1 on. */
export function bucketsFrom(rows: readonly { from: number; count: number }[]): number[] {
  const buckets: number[] = [];
  for (const { from, count } of rows) {
    const bucket = Math.round(Math.log2(from));
    while (buckets.length <= bucket) buckets.push(0);
    buckets[bucket]! += count;
  }
  return buckets;
}

/** Formats a power of two of nanoseconds as "512 ns", "1 µs", "1 ms": each unit is 1,024 of the previous one. */
export function formatPowerNs(bucket: number): string {
  const units = ['ns', 'µs', 'ms', 's'] as const;
  const power = Math.min(3, Math.floor(bucket / 10));
  return `${2 ** (bucket - power * 10)}\u202f${units[power]}`;
}
