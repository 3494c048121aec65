/**
 * Places the label of a horizontal line or of a curve where it covers the least of the drawing. All positions are CSS pixels in chart
 * space.
 */
import type { ScalingGeometry } from './scaling-geometry.ts';
import { textWidth } from './text-lines.ts';

export interface LabelPlace {
  text: string;
  x: number;
  /** The baseline of the text. */
  y: number;
}

/** A position in chart space. */
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

interface Drawing {
  series: readonly Line[];
  geometry: ScalingGeometry;
}

interface Line {
  points: readonly { x: number; value: number }[];
}

/**
 * The labels of horizontal lines, which are in each of a chart's panels: all in their short form if one needs it, so that equal
 * lines have equal names. Returned by panel.
 */
export function placeReferenceLabels(
  lines: readonly { label: string; shortLabel: string; value: number }[],
  panels: readonly Drawing[],
): LabelPlace[][] {
  const placed = (textsOf: (line: (typeof lines)[number]) => readonly string[]) =>
    panels.map((panel) =>
      lines.map((line) => placeLabel(textsOf(line), panel.geometry.y(line.value), panel)),
    );
  const places = placed(({ label, shortLabel }) => [label, shortLabel]);
  const allFit = places.every((labels) => labels.every(({ text }, index) => text === lines[index]!.label));
  return allFit ? places : placed(({ shortLabel }) => [shortLabel]);
}

/**
 * Tries each text at several positions along the line at `y`, above and below it, and takes the one that covers the
 * least. On a tie the earlier text wins (pass the longest first), then the leftmost position, then above the line.
 */
export function placeLabel(texts: readonly string[], y: number, { series, geometry }: Drawing): LabelPlace {
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
  return leastCovered(places, sampledPositions(series, geometry), geometry);
}

/**
 * The label of a curve at its end, in its middle or at its start, above or below the part of the curve that it covers. On a tie
 * the end wins, then above the curve.
 */
export function placeOnCurve(text: string, curve: Line['points'], { series, geometry }: Drawing): LabelPlace {
  const at = sampledPositions([{ points: curve }], geometry);
  const width = textWidth(text);
  const [first, last] = [at[0]!.x, at.at(-1)!.x];
  const places = [last - width, (first + last - width) / 2, first].flatMap((wanted) => {
    const x = Math.max(geometry.left + insetPx, Math.min(wanted, geometry.right - insetPx - width));
    const under = at.filter((position) => position.x >= x - insetPx && position.x <= x + width + insetPx);
    const ys = (under.length > 0 ? under : at).map((position) => position.y);
    return [
      { text, x, y: Math.min(...ys) - insetPx - 2 },
      { text, x, y: Math.max(...ys) + insetPx + lineHeightPx },
    ];
  });
  return leastCovered(places, sampledPositions(series, geometry), geometry);
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
    : leastCovered(places, drawn, geometry);
}

/** The first of the places that cover the least of what is drawn. A place that is not within the plot is taken last. */
function leastCovered(
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

/** Positions along the drawn lines, close enough together that no line passes unnoticed under a label. */
export function sampledPositions(
  lines: readonly Line[],
  { x, y }: Pick<ScalingGeometry, 'x' | 'y'>,
): Position[] {
  return lines.flatMap(({ points }) =>
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
