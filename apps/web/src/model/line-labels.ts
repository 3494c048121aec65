/** Labels at the right ends of lines, moved apart vertically where they would touch. Positions are CSS pixels in chart space. */
import { plural } from './format.ts';
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';

export interface LineLabel {
  id: string;
  system: string;
  text: string;
  x: number;
  /** The baseline of the text. */
  y: number;
}

/** From this width of a chart on, its lines have room for labels at their ends. */
export const lineLabelsFromPx = 540;

const lineHeightPx = 12;
const gapPx = 8;
/** From the middle of a line of text to its baseline. */
const baselinePx = 4;

const shortNames: Readonly<Record<string, string>> = { 'unsharded-grouped': 'grouped' };

/** "sharded, 4", "grouped, 1": the system and its instances, which the heading of the chart explains. */
const labelOf = ({ system, instances }: ScalingSeries): string =>
  `${shortNames[system] ?? system}${instances > 0 ? `, ${instances}` : ''}`;

export const lineLabelHint = (series: readonly ScalingSeries[]): string => {
  const [first] = series;
  return first === undefined ? '' : `${labelOf(first)}: ${plural(first.instances, 'instance')}`;
};

/** In the order of the series. Labels keep the order of the lines' ends, and stay within the plot's height if they fit. */
export function placeLineLabels(
  series: readonly ScalingSeries[],
  { x, y, right, top, bottom }: Pick<ScalingGeometry, 'x' | 'y' | 'right' | 'top' | 'bottom'>,
): LineLabel[] {
  const ends = series.flatMap((entry) => {
    const last = entry.points.at(-1);
    return last === undefined ? [] : [{ entry, x: x(last.x), y: y(last.value) }];
  });
  const sorted = ends.sort((a, b) => a.y - b.y);
  const placed: number[] = [];
  for (const end of sorted) {
    const above = placed.at(-1);
    placed.push(above === undefined ? Math.max(top, end.y) : Math.max(end.y, above + lineHeightPx));
  }
  // What was pushed below the plot pushes back up.
  for (let index = placed.length - 1, limit = bottom; index >= 0; index--) {
    placed[index] = Math.min(placed[index]!, limit);
    limit = placed[index]! - lineHeightPx;
  }
  return sorted.map(({ entry }, index) => ({
    id: entry.id,
    system: entry.system,
    text: labelOf(entry),
    x: right + gapPx,
    y: placed[index]! + baselinePx,
  }));
}
