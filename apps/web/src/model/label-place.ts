/** Finds room for the label of a horizontal line among what is drawn already. Chart space, CSS pixels. */
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';

export interface LabelPlace {
  x: number;
  /** Base line of the text. */
  y: number;
  anchor: 'start' | 'end';
}

/** What a letter at 11 px takes: a little more than system fonts need on average. */
const letterPx = 5.6;
const lineHeight = 12;
const inset = 6;
const stepPx = 3;

/** Width of a text at 11 px, estimated: charts are also drawn where no font can be measured. */
export const textWidth = (text: string): number => text.length * letterPx;

/**
 * Above or below the line, at its left or its right end: wherever the fewest lines and points are covered, and above
 * left if all is equal. `y` is that of the line.
 */
export function placeLabel(
  text: string,
  y: number,
  { series, geometry }: { series: readonly ScalingSeries[]; geometry: ScalingGeometry },
): LabelPlace {
  const width = textWidth(text);
  const drawn = drawnPlaces(series, geometry);
  const { left, right, top, bottom } = geometry;
  const candidates: LabelPlace[] = [y - inset, y + inset + lineHeight - 3].flatMap((base) => [
    { x: left + inset, y: base, anchor: 'start' as const },
    { x: right - inset, y: base, anchor: 'end' as const },
  ]);
  const covered = ({ x, y: base, anchor }: LabelPlace): number => {
    if (base - lineHeight < top || base > bottom) return Number.POSITIVE_INFINITY;
    const from = anchor === 'start' ? x : x - width;
    return drawn.filter(
      (place) =>
        place.x > from - 4 && place.x < from + width + 4 && place.y > base - lineHeight && place.y < base + 4,
    ).length;
  };
  return candidates.reduce((best, place) => (covered(place) < covered(best) ? place : best));
}

/** Places along the drawn lines, close enough together that none slips through a label. */
function drawnPlaces(
  series: readonly ScalingSeries[],
  { x, y }: ScalingGeometry,
): { x: number; y: number }[] {
  return series.flatMap(({ points }) =>
    points.flatMap((point, index) => {
      const to = { x: x(point.threads), y: y(point.value) };
      const before = points[index - 1];
      if (before === undefined) return [to];
      const from = { x: x(before.threads), y: y(before.value) };
      const count = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / stepPx));
      return Array.from({ length: count }, (_, step) => {
        const share = (step + 1) / count;
        return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
      });
    }),
  );
}
