/** Finds room for the label of a horizontal line among what is drawn already. Chart space, CSS pixels. */
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';

export interface LabelPlace {
  text: string;
  x: number;
  /** Base line of the text. */
  y: number;
}

/** What a letter at 11 px takes: a little more than system fonts need on average. */
const letterPx = 5.6;
const lineHeight = 12;
const inset = 6;
const stepPx = 3;
/** Places tried along the line, from its left to its right end. */
const stops = 9;

/** Width of a text at 11 px, estimated: charts are also drawn where no font can be measured. */
const textWidth = (text: string): number => text.length * letterPx;

/**
 * The first of `texts` (longest first) that covers nothing anywhere above or below the line at `y`; if each would, the
 * place and text that cover the least. Leftmost and above where all is equal.
 */
export function placeLabel(
  texts: readonly string[],
  y: number,
  { series, geometry }: { series: readonly ScalingSeries[]; geometry: ScalingGeometry },
): LabelPlace {
  const drawn = drawnPlaces(series, geometry);
  const { left, right, top, bottom } = geometry;
  const room = right - left - 2 * inset;
  const covered = ({ text, x, y: base }: LabelPlace): number => {
    if (base - lineHeight < top || base > bottom) return Number.POSITIVE_INFINITY;
    const to = x + textWidth(text);
    return drawn.filter(
      (place) => place.x > x - 4 && place.x < to + 4 && place.y > base - lineHeight && place.y < base + 4,
    ).length;
  };
  const places = texts
    .filter((text, index) => index === texts.length - 1 || textWidth(text) <= room)
    .flatMap((text) => {
      const play = Math.max(0, room - textWidth(text));
      return Array.from({ length: stops }, (_, stop) => left + inset + (play * stop) / (stops - 1)).flatMap(
        (x) => [
          { text, x, y: y - inset },
          { text, x, y: y + inset + lineHeight - 3 },
        ],
      );
    });
  return places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
}

/** Places along the drawn lines, close enough together that none slips through a label. */
function drawnPlaces(
  series: readonly ScalingSeries[],
  { x, y }: ScalingGeometry,
): { x: number; y: number }[] {
  return series.flatMap(({ points }) =>
    points.flatMap((point, index) => {
      const to = { x: x(point.x), y: y(point.value) };
      const before = points[index - 1];
      if (before === undefined) return [to];
      const from = { x: x(before.x), y: y(before.value) };
      const count = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / stepPx));
      return Array.from({ length: count }, (_, step) => {
        const share = (step + 1) / count;
        return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
      });
    }),
  );
}
