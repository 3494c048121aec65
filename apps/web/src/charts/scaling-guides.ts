/** Guides for comparison in the scaling chart: a line of slope one, and values that a document states. */
import type { Selection } from 'd3-selection';
import { type LabelPlace, type Position, placeOnRise, sampledPositions } from '../model/label-placement.ts';
import { linearGuide, type ScalingGeometry } from '../model/scaling-geometry.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';
import { textWidth } from '../model/text-lines.ts';
import { px } from './axes.ts';
import { haloText } from './halo-text.ts';
import { documentLine, lineColor, themeColor } from './visual-encoding.ts';

/** Distance from the baseline of a text up to its middle. */
const labelMiddlePx = 4;

type Group = Selection<SVGGElement, unknown, null, undefined>;

/** A value that a document states, drawn as a labelled horizontal line. */
export interface ReferenceLine {
  label: string;
  /** Used for all lines of a chart if the `label` of one does not fit. */
  shortLabel: string;
  value: number;
  system: string;
  /** Instead of the colour of the system. */
  color?: string;
}

interface GuideData {
  series: readonly ScalingSeries[];
  references: readonly ReferenceLine[];
  /** Label positions of the references, in their order. */
  labels: readonly LabelPlace[];
  /** Whether to draw a line of slope one. */
  hasLinearGuide: boolean;
}

/** Drawn under the lines of the series. */
export function drawGuides(group: Group, geometry: ScalingGeometry, data: GuideData): void {
  const guide = guideOf(data, geometry);
  group
    .selectAll<SVGLineElement, unknown>('line[data-guide]')
    .data(guide === null ? [] : [guide])
    .join('line')
    .attr('data-guide', 'linear')
    .attr('stroke', themeColor.strong)
    .attr('stroke-dasharray', '1 4')
    .attr('stroke-width', 1.5)
    .attr('stroke-linecap', 'round')
    .attr('x1', (d) => px(d.x1))
    .attr('y1', (d) => px(d.y1))
    .attr('x2', (d) => px(d.x2))
    .attr('y2', (d) => px(d.y2));
  group
    .selectAll<SVGLineElement, ReferenceLine>('line[data-reference]')
    .data(data.references, (d) => d.label)
    .join('line')
    .attr('data-reference', (d) => d.label)
    .attr('stroke-width', documentLine.width)
    .attr('stroke-opacity', documentLine.opacity)
    .attr('stroke', lineColor)
    .attr('x1', geometry.left)
    .attr('x2', geometry.right)
    .attr('y1', (d) => px(geometry.y(d.value)))
    .attr('y2', (d) => px(geometry.y(d.value)));
}

/** Drawn over the lines of the series: where one passes through a label, the label's outline keeps it readable. */
export function drawGuideLabels(group: Group, geometry: ScalingGeometry, data: GuideData): void {
  const guide = guideOf(data, geometry);
  const ofGuide =
    guide === null
      ? []
      : [placeOnRise('linear', guide, { drawn: drawnBefore(data, data.labels, geometry), geometry })];
  group
    .selectAll<SVGTextElement, LabelPlace>('text[data-guide]')
    .data(ofGuide)
    .join('text')
    .attr('data-guide', 'linear')
    .call(haloText)
    .attr('fill', themeColor.muted)
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);
  group
    .selectAll<SVGTextElement, LabelPlace>('text[data-reference]')
    .data(data.labels)
    .join('text')
    .attr('data-reference', (_, index) => data.references[index]!.label)
    .call(haloText)
    .attr('fill', (_, index) => lineColor(data.references[index]!))
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);
}

/** The line of slope one, through the first point of the sharded queue; null without one. */
function guideOf({ series, hasLinearGuide }: GuideData, geometry: ScalingGeometry) {
  const through = series.find((entry) => entry.system === 'sharded')?.points[0];
  return hasLinearGuide && through !== undefined ? linearGuide(geometry, through) : null;
}

/** Areas that are already drawn: lines and labels of references, and the lines of the series. */
function drawnBefore(
  { series, references }: GuideData,
  labels: readonly LabelPlace[],
  geometry: ScalingGeometry,
): Position[] {
  const [low, high] = geometry.x.domain() as [number, number];
  const lines = references.map(({ value }) => ({
    points: [
      { x: low, value },
      { x: high, value },
    ],
  }));
  const texts = labels.flatMap(({ text, x, y }) =>
    Array.from({ length: text.length }, (_, index) => ({
      x: x + (index / text.length) * textWidth(text),
      y: y - labelMiddlePx,
    })),
  );
  return [...sampledPositions([...series, ...lines], geometry), ...texts];
}
