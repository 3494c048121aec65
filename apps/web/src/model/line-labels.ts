/**
 * Names of lines, and their labels at the right ends of the lines, moved apart vertically where they would touch. Positions are CSS
 * pixels in chart space.
 */
import { plural } from './format.ts';
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';
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

/** From one line of text to the next. */
export const labelLinePx = 12;
const gapPx = 8;
/** Of labels, the gap included: one width for most charts, and a limit for names that are longer, which wrap. */
const labelWidths = { min: 86, max: 160 };
const labelLinesMax = 2;
/** From the middle of a line of text to its baseline. */
const baselinePx = 4;

const shortNames: Readonly<Record<string, string>> = { 'unsharded-grouped': 'grouped' };

/**
 * What tells a line from the others, given what differs between them: "sharded, 4" (its instances, which the heading explains),
 * "sharded, 8 threads", "4 instances, 32 threads".
 */
export const lineNames =
  ({ hasSystems, hasInstances }: { hasSystems: boolean; hasInstances: boolean }) =>
  ({
    system,
    instances,
    otherParams,
  }: Pick<ScalingSeries, 'system' | 'instances' | 'otherParams'>): string => {
    const name = shortNames[system] ?? system;
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

/** What the labels of all lines of a plot take at its right, and from top to bottom. */
export function labelRoom(names: readonly string[]): { width: number; height: number } {
  const lines = names.flatMap(labelLines);
  const widest = Math.max(0, ...lines.map(textWidth));
  return {
    width: Math.min(labelWidths.max, Math.max(labelWidths.min, gapPx + widest)),
    height: lines.length * labelLinePx,
  };
}

/** In the order of the series. Labels keep the order of the lines' ends, and stay within the plot's height if they fit. */
export function placeLineLabels(
  series: readonly ScalingSeries[],
  { x, y, right, top, bottom }: Pick<ScalingGeometry, 'x' | 'y' | 'right' | 'top' | 'bottom'>,
): LineLabel[] {
  const ends = series.flatMap((entry) => {
    const last = entry.points.at(-1);
    const lines = labelLines(entry.name ?? entry.system);
    return last === undefined
      ? []
      : [{ entry, lines, half: (lines.length * labelLinePx) / 2, x: x(last.x), y: y(last.value) }];
  });
  const sorted = ends.sort((a, b) => a.y - b.y);
  /** Middles of the labels. */
  const placed: number[] = [];
  const firstPx = labelLinePx / 2;
  sorted.forEach((end, index) => {
    const above = sorted[index - 1];
    placed.push(
      Math.max(
        end.y,
        above === undefined ? top + end.half - firstPx : placed[index - 1]! + above.half + end.half,
      ),
    );
  });
  // What was pushed below the plot pushes back up.
  for (let index = placed.length - 1; index >= 0; index--) {
    const { half } = sorted[index]!;
    const below = sorted[index + 1];
    const limit = below === undefined ? bottom - half + firstPx : placed[index + 1]! - below.half - half;
    placed[index] = Math.min(placed[index]!, limit);
  }
  return sorted.map(({ entry: { id, system, color }, lines, half }, index) => ({
    id,
    system,
    color,
    lines,
    x: right + gapPx,
    y: placed[index]! - half + firstPx + baselinePx,
  }));
}
