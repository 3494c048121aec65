/** What stands behind the lines of the scaling chart: a line of slope one, and values that a document states. */
import type { Selection } from 'd3-selection';
import { placeReferenceLabels } from '../model/label-placement.ts';
import { linearGuide, type ScalingGeometry } from '../model/scaling-geometry.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';
import { px } from './axes.ts';
import { haloText } from './halo-text.ts';
import { documentLine, lineColor, themeColor } from './visual-encoding.ts';

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
  /** Whether to draw a line of slope one. */
  hasLinearGuide: boolean;
}

export function drawGuides(group: Group, geometry: ScalingGeometry, data: GuideData): void {
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
      entry.append('text').attr('fill', themeColor.muted).attr('font-size', 11);
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
    .attr('text-anchor', (d) => (d.x2 > geometry.right - 50 ? 'end' : 'start'))
    .attr('x', (d) => px(d.x2 > geometry.right - 50 ? d.x2 - 12 : d.x2 + 6))
    .attr('y', (d) => px(d.x2 > geometry.right - 50 ? d.y2 - 6 : d.y2 + 11))
    .text('linear');

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
  const labels = placeReferenceLabels(data.references, { series: data.series, geometry });
  references
    .select('text')
    .data(labels)
    .attr('fill', (_, index) => lineColor(data.references[index]!))
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);
}
