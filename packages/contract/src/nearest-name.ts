/** The known name most similar to the given one, or null if none is similar enough. */
export function nearestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  // If half of the letters are wrong, it is not a typing error.
  return best !== null && bestDistance <= Math.max(2, Math.floor(best.length / 2)) ? best : null;
}

/** Levenshtein distance, row by row. Long input is truncated, because a field name may have any length. */
function editDistance(a: string, b: string): number {
  const from = a.slice(0, 64);
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (from[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, substitution));
    }
    row = next;
  }
  return row[b.length]!;
}
