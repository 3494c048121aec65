import { ascending } from 'd3-array';

const texts = new Intl.Collator('en', { numeric: true });

/** The order of two cells of a column: numbers by size, texts as a reader expects, "2 threads" before "16 threads". */
export function compareCells(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return texts.compare(a, b);
  return ascending(a as number, b as number);
}
