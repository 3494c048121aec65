/**
 * Names of lines, and their labels at the right of the plot, beside the mark where a line has a single point. They are moved apart
 * vertically where they would touch. Positions are CSS pixels in chart space.
 */
import { plural } from './format.ts';
import { sampledPositions } from './label-placement.ts';
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';
import { systemInWords } from './system-words.ts';
import { textWidth, wrapText } from './text-lines.ts';

export interface LineLabel {
  id: string;
  system: string;
  color?: string | undefined;
  lines: string[];
  x: number;
  /** The baseline of the first line of the text. */
  y: number;
}

/** From this width of a chart on, its lines may have labels at their ends. */
export const lineLabelsFromPx = 540;

/** Distance from one line of text to the next. */
export const labelLinePx = 12;
const gapPx = 8;
/** Widths of labels including the gap: one for most charts, and a limit for longer names, which wrap. */
const labelWidths = { min: 86, max: 160 };
const labelLinesMax = 2;
/** Between two labels of which one has several lines: without it their lines would be one block. */
const labelGapPx = 3;
/** Distance from a point to its label, outside the ring of a trial under way. */
const besidePx = 13;
/** Distance from the middle of a line of text to its baseline. */
const baselinePx = 4;

const shortNames: Readonly<Record<string, string>> = { 'unsharded-grouped': 'grouped' };

/**
 * Name of a line, from the parameters that differ between the lines: "sharded, 4" (its instances, which the heading explains),
 * "sharded, 8 threads", "4 instances, 32 threads".
 */
export const lineNames =
  ({ hasSystems, hasInstances }: { hasSystems: boolean; hasInstances: boolean }) =>
  ({
    system,
    instances,
    otherParams,
  }: Pick<ScalingSeries, 'system' | 'instances' | 'otherParams'>): string => {
    const name = shortNames[system] ?? systemInWords(system);
    const isNamed = hasSystems || otherParams.length === 0;
    const isShort = isNamed && otherParams.length === 0;
    const count = hasInstances ? [isShort ? String(instances) : plural(instances, 'instance')] : [];
    return [...(isNamed ? [name] : []), ...count, ...otherParams].join(', ');
  };

/** Explains the numbers of short names, if there are any. */
export function lineLabelHint(series: readonly ScalingSeries[]): string {
  const hasShort = series.some(({ name = '', instances }) => name.endsWith(`, ${instances}`));
  return hasShort ? 'number after a name: instances' : '';
}

const labelLines = (name: string): string[] => wrapText(name, labelWidths.max - gapPx, labelLinesMax);

/** Space that the labels of all lines of a plot need: width at its right, and height. */
export function labelRoom(names: readonly string[]): { width: number; height: number } {
  const labels = names.map(labelLines);
  const lines = labels.flat();
  const widest = Math.max(0, ...lines.map(textWidth));
  const gaps = labels.some(({ length }) => length > 1) ? labels.length - 1 : 0;
  return {
    width: Math.min(labelWidths.max, Math.max(labelWidths.min, gapPx + widest)),
    height: lines.length * labelLinePx + gaps * labelGapPx,
  };
}

interface LineEnd {
  entry: ScalingSeries;
  lines: string[];
  /** Half of the height of the label. */
  half: number;
  /** Left edge of the label. */
  x: number;
  /** Position of the last point. */
  y: number;
}

/** Labels in the same column keep the order of the lines' ends, and stay within the plot's height if they fit. */
export function placeLineLabels(
  series: readonly ScalingSeries[],
  geometry: Pick<ScalingGeometry, 'x' | 'y' | 'right' | 'top' | 'bottom'>,
): LineLabel[] {
  const { x, y, right } = geometry;
  const ends = series.flatMap((entry): LineEnd[] => {
    const last = entry.points.at(-1);
    if (last === undefined) return [];
    const lines = labelLines(entry.name ?? systemInWords(entry.system));
    const half = (lines.length * labelLinePx) / 2;
    return [{ entry, lines, half, x: right + gapPx, y: y(last.value) }];
  });
  // Beside its point a label must cover no line of the others.
  const drawn = sampledPositions(series, { x, y });
  const besides = ends.map((end): LineEnd => {
    const [only, ...more] = end.entry.points;
    if (only === undefined || more.length > 0) return end;
    const from = x(only.x) + besidePx;
    const to = from + Math.max(...end.lines.map(textWidth));
    const covers = drawn.some(
      (at) => at.x > from - gapPx && at.x < to && Math.abs(at.y - end.y) < end.half + labelLinePx,
    );
    return covers || to > right + gapPx ? end : { ...end, x: from };
  });
  return [...new Set(besides.map((end) => end.x))].flatMap((column) =>
    placeColumn(
      besides.filter((end) => end.x === column),
      geometry,
    ),
  );
}

function placeColumn(
  ends: readonly LineEnd[],
  { top, bottom }: Pick<ScalingGeometry, 'top' | 'bottom'>,
): LineLabel[] {
  const sorted = ends.toSorted((a, b) => a.y - b.y);
  const gap = sorted.some(({ lines }) => lines.length > 1) ? labelGapPx : 0;
  /** Middles of the labels. */
  const placed: number[] = [];
  const firstPx = labelLinePx / 2;
  sorted.forEach((end, index) => {
    const above = sorted[index - 1];
    placed.push(
      Math.max(
        end.y,
        above === undefined ? top + end.half - firstPx : placed[index - 1]! + above.half + end.half + gap,
      ),
    );
  });
  // Labels that were pushed below the plot push the others back up.
  for (let index = placed.length - 1; index >= 0; index--) {
    const { half } = sorted[index]!;
    const below = sorted[index + 1];
    const limit =
      below === undefined ? bottom - half + firstPx : placed[index + 1]! - below.half - half - gap;
    placed[index] = Math.min(placed[index]!, limit);
  }
  return sorted.map(({ entry: { id, system, color }, lines, half, x }, index) => ({
    id,
    system,
    color,
    lines,
    x,
    y: placed[index]! - half + firstPx + baselinePx,
  }));
}
