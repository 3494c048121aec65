/** Sums and differences of the engine's counters, by name. */
export type Counts = Readonly<Record<string, number>>;

/** The increase of each counter; one that was registered in between started at 0. */
export const countsBetween = (before: Counts, after: Counts): Counts =>
  Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]));

/** Adds the counts of several instances. */
export function addCounts(all: readonly Counts[]): Counts {
  const sums: Record<string, number> = {};
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
