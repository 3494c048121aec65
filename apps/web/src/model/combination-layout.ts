/**
 * Places of the rows of a combination chart: names at the left where there is room for them, else above the bars. Positions are CSS
 * pixels in chart space.
 */
import { max } from 'd3-array';
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import type { CombinationRow, CombinationView } from './combination-rows.ts';
import { textWidth, wrapText } from './text-lines.ts';

export interface PlacedRow {
  row: CombinationRow;
  /** Lines of the name. */
  lines: string[];
  top: number;
  height: number;
  /** Baseline of the first line. */
  nameY: number;
  /** Middle of the bar. */
  barY: number;
}

export interface CombinationLayout {
  rows: PlacedRow[];
  /** Scale from 0, in the unit of the metric. */
  x: ScaleLinear<number, number>;
  /** Top of the bars. */
  top: number;
  bottom: number;
  height: number;
}

export const lineHeightPx = 13;
/** Height of the label of a document's value, above the bars. */
export const referencePx = 15;
export const axisPx = 24;
export const namePaddingPx = 6;
const wideFromPx = 560;
const barPx = 16;
const gapPx = 6;
/** Names wrap instead of being cut, because the part that distinguishes rows is often at the end. */
const nameLinesMax = 3;
/** Beyond the longest bar, for its value. */
const valueGapPx = 10;

export function layoutCombinations(
  { rows, references, live }: CombinationView,
  width: number,
): CombinationLayout {
  const isWide = width >= wideFromPx;
  const longest = Math.max(0, ...rows.map(({ name }) => textWidth(name)));
  const nameWidth = isWide ? Math.min(longest + 2 * namePaddingPx, width * 0.42) : width;
  const left = isWide ? nameWidth + namePaddingPx : namePaddingPx;
  const top = references.length * referencePx + 2;
  const placed: PlacedRow[] = [];
  let y = top;
  for (const row of rows) {
    const lines = wrapText(row.name, nameWidth - 2 * namePaddingPx, nameLinesMax);
    const namePx = lines.length * lineHeightPx;
    const height = gapPx + (isWide ? Math.max(barPx, namePx) : namePx + barPx);
    placed.push({
      row,
      lines,
      top: y,
      height,
      nameY: isWide ? y + (height - namePx) / 2 + lineHeightPx - 3 : y + lineHeightPx,
      barY: isWide ? y + height / 2 : y + height - gapPx / 2 - barPx / 2,
    });
    y += height;
  }
  const values = [
    ...rows.flatMap(({ value, range }) => [value ?? 0, range?.[1] ?? 0]),
    ...references.map(({ value }) => value),
    live?.value ?? 0,
  ];
  const valueWidth = Math.max(0, ...rows.map(({ text }) => textWidth(text)));
  const right = Math.max(left + 1, width - valueWidth - 2 * valueGapPx);
  return {
    rows: placed,
    x: scaleLinear([0, max(values) || 1], [left, right]),
    top,
    bottom: y,
    height: y + axisPx,
  };
}
