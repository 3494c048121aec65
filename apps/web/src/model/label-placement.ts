/**
 * Places the label of a horizontal line where it covers the least of the drawing. All positions are CSS pixels in chart
 * space.
 */
import type { ScalingGeometry } from './scaling-geometry.ts';
import type { ScalingSeries } from './scaling-series.ts';
import { textWidth } from './text-lines.ts';

export interface LabelPlace {
  text: string;
  x: number;
  /** The baseline of the text. */
  y: number;
}

/** In chart space. */
export interface Position {
  x: number;
  y: number;
}

const lineHeightPx = 12;
const insetPx = 6;
/** Distance of the sampled positions along a drawn line. */
const samplePx = 3;
/** Number of positions tried along the line, from left to right. */
const candidates = 9;

/**
 * Tries each text at several positions along the line at `y`, above and below it, and takes the one that covers the
 * least. On a tie the earlier text wins (pass the longest first), then the leftmost position, then above the line.
 */
export function placeLabel(
  texts: readonly string[],
  y: number,
  { series, geometry }: { series: readonly ScalingSeries[]; geometry: ScalingGeometry },
): LabelPlace {
  const { left, right } = geometry;
  const widthPx = right - left - 2 * insetPx;
  const places = texts
    .filter((text, index) => index === texts.length - 1 || textWidth(text) <= widthPx)
    .flatMap((text) => {
      const slackPx = Math.max(0, widthPx - textWidth(text));
      return Array.from(
        { length: candidates },
        (_, n) => left + insetPx + (slackPx * n) / (candidates - 1),
      ).flatMap((x) => [
        { text, x, y: y - insetPx },
        { text, x, y: y + insetPx + lineHeightPx - 3 },
      ]);
    });
  return coveringLeast(places, sampledPositions(series, geometry), geometry);
}

/** The label of a line that rises from left to right: tries positions from its upper end on, below the line and above it. */
export function placeOnRise(
  text: string,
  { x1, y1, x2, y2 }: { x1: number; y1: number; x2: number; y2: number },
  { drawn, geometry }: { drawn: readonly Position[]; geometry: ScalingGeometry },
): LabelPlace {
  const widthPx = textWidth(text);
  const places = Array.from({ length: candidates }, (_, n) => 1 - n / candidates).flatMap((share) => {
    const at = { x: x1 + (x2 - x1) * share, y: y1 + (y2 - y1) * share };
    const below = { text, x: at.x + insetPx, y: at.y + lineHeightPx };
    const above = { text, x: at.x - 2 * insetPx - widthPx, y: at.y - insetPx };
    return [
      ...(below.x + widthPx + insetPx <= geometry.right ? [below] : []),
      ...(above.x >= geometry.left ? [above] : []),
    ];
  });
  return places.length === 0
    ? { text, x: x2 - widthPx, y: y2 - insetPx }
    : coveringLeast(places, drawn, geometry);
}

/** The first of the places that cover the least of what is drawn; those outside the plot last. */
function coveringLeast(
  places: readonly LabelPlace[],
  drawn: readonly Position[],
  { top, bottom }: ScalingGeometry,
): LabelPlace {
  const covered = ({ text, x, y: baseline }: LabelPlace): number => {
    if (baseline - lineHeightPx < top || baseline > bottom) return Number.POSITIVE_INFINITY;
    const to = x + textWidth(text);
    return drawn.filter(
      (position) =>
        position.x > x - 4 &&
        position.x < to + 4 &&
        position.y > baseline - lineHeightPx &&
        position.y < baseline + 4,
    ).length;
  };
  return places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
}

/** The label of a curve at its end, above all that it covers of the curve or, without room there, below it; within the plot. */
export function placeAtEnd(
  text: string,
  points: readonly { x: number; value: number }[],
  { x, y, left, right, top }: ScalingGeometry,
): LabelPlace {
  const at = points.map((point) => ({ x: x(point.x), y: y(point.value) }));
  const to = Math.min(at.at(-1)!.x, right - insetPx);
  const from = Math.max(left + insetPx, to - textWidth(text));
  /** From the last point before the label, so that the stretch that enters it counts too. */
  const covered = at
    .slice(
      Math.max(
        0,
        at.findLastIndex((point) => point.x <= from),
      ),
    )
    .map((point) => point.y);
  const above = Math.min(...covered) - insetPx - 2;
  const below = Math.max(...covered) + insetPx + lineHeightPx;
  return { text, x: from, y: above - lineHeightPx < top ? below : above };
}

/** Positions along the drawn lines, close enough together that no line passes unnoticed under a label. */
export function sampledPositions(
  series: readonly { readonly points: readonly { x: number; value: number }[] }[],
  { x, y }: Pick<ScalingGeometry, 'x' | 'y'>,
): Position[] {
  return series.flatMap(({ points }) =>
    points.flatMap((point, index) => {
      const to = { x: x(point.x), y: y(point.value) };
      const before = points[index - 1];
      if (before === undefined) return [to];
      const from = { x: x(before.x), y: y(before.value) };
      const count = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / samplePx));
      return Array.from({ length: count }, (_, n) => {
        const share = (n + 1) / count;
        return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
      });
    }),
  );
}
