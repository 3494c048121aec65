/** What stands behind the lines of the scaling chart: a line of slope one, and values that a document states. */
import type { Selection } from 'd3-selection';
import { type LabelPlace, type Position, placeOnRise, sampledPositions } from '../model/label-placement.ts';
import { linearGuide, type ScalingGeometry } from '../model/scaling-geometry.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';
import { textWidth } from '../model/text-lines.ts';
import { px } from './axes.ts';
import { haloText } from './halo-text.ts';
import { documentLine, lineColor, themeColor } from './visual-encoding.ts';

/** From the baseline of a text up to its middle. */
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
  /** Of the references, in their order. */
  labels: readonly LabelPlace[];
  /** Whether to draw a line of slope one. */
  hasLinearGuide: boolean;
}

export function drawGuides(group: Group, geometry: ScalingGeometry, data: GuideData): void {
  const { labels } = data;
  const firstSharded = data.series.find((entry) => entry.system === 'sharded')?.points[0];
  const through = data.hasLinearGuide ? firstSharded : undefined;
  const guide = through === undefined ? null : linearGuide(geometry, through);
  const slopes = group
    .selectAll<SVGGElement, unknown>('g[data-guide]')
    .data(guide === null ? [] : [guide])
    .join((enter) => {
      const entry = enter.append('g').attr('data-guide', 'linear');
      entry
        .append('line')
        .attr('stroke', themeColor.strong)
        .attr('stroke-dasharray', '1 4')
        .attr('stroke-width', 1.5);
      entry.append('text').attr('fill', themeColor.muted).call(haloText);
      return entry;
    });
  slopes
    .select('line')
    .attr('x1', (d) => px(d.x1))
    .attr('y1', (d) => px(d.y1))
    .attr('x2', (d) => px(d.x2))
    .attr('y2', (d) => px(d.y2))
    .attr('stroke-linecap', 'round');
  slopes
    .select('text')
    .datum((d) => placeOnRise('linear', d, { drawn: drawnBefore(data, labels, geometry), geometry }))
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);

  const references = group
    .selectAll<SVGGElement, ReferenceLine>('g[data-reference]')
    .data(data.references, (d) => d.label)
    .join((enter) => {
      const entry = enter.append('g').attr('data-reference', (d) => d.label);
      entry
        .append('line')
        .attr('stroke-width', documentLine.width)
        .attr('stroke-opacity', documentLine.opacity);
      entry.append('text').call(haloText);
      return entry;
    });
  references
    .select('line')
    .attr('stroke', lineColor)
    .attr('x1', geometry.left)
    .attr('x2', geometry.right)
    .attr('y1', (d) => px(geometry.y(d.value)))
    .attr('y2', (d) => px(geometry.y(d.value)));
  references
    .select('text')
    .data(labels)
    .attr('fill', (_, index) => lineColor(data.references[index]!))
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);
}

/** Where lines and labels of references are, and the lines of the series. */
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
