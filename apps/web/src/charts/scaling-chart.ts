/** The log-log chart of a metric over threads or another parameter, with a line for each series. */
import { pointer, type Selection, select } from 'd3-selection';
import { line, symbol } from 'd3-shape';
import { placeLabel } from '../model/label-placement.ts';
import {
  linearGuide,
  nearestPoint,
  type ScalingGeometry,
  scalingGeometry,
} from '../model/scaling-geometry.ts';
import { findPoint, type ScalingPoint, type ScalingSeries } from '../model/scaling-series.ts';
import type { SweepAxis } from '../model/sweep-axis.ts';
import { drawBottomAxis, drawLeftAxis, px } from './axes.ts';
import type { Chart, Size } from './chart.ts';
import {
  fontFamily,
  instanceShape,
  pointArea,
  roundTripDash,
  simulatedDash,
  systemColor,
  themeColor,
} from './visual-encoding.ts';

/** A value that a document states, drawn as a labelled horizontal line. */
export interface ReferenceLine {
  label: string;
  /** Used if `label` does not fit. */
  shortLabel: string;
  value: number;
  system: string;
}

export interface ScalingChartData extends Size {
  series: readonly ScalingSeries[];
  axis: Pick<SweepAxis, 'title' | 'format'>;
  /** The planned values of the horizontal axis, so that it is complete before all points are measured. */
  xs: readonly number[];
  references: readonly ReferenceLine[];
  /** Whether to draw a line of slope one. */
  hasLinearGuide: boolean;
  formatAxis(value: number): string;
  /** Key of the point under the cursor. */
  cursor: string | null;
  /** Key of the point that the time charts show. */
  selected: string | null;
}

export interface ScalingChartEvents {
  onCursor(key: string | null): void;
  onSelect(key: string): void;
}

const margin = { top: 14, right: 18, bottom: 42, left: 50 };
const reachPx = 36;

export function createScalingChart(
  element: SVGSVGElement,
  events: ScalingChartEvents,
): Chart<ScalingChartData> {
  const svg = select(element).attr('font-family', fontFamily);
  const leftAxis = svg.append('g').attr('data-part', 'left-axis');
  const bottomAxis = svg.append('g').attr('data-part', 'bottom-axis');
  const axisTitle = svg
    .append('text')
    .attr('text-anchor', 'end')
    .attr('fill', themeColor.muted)
    .attr('font-size', 11);
  const guides = svg.append('g').attr('data-part', 'guides');
  const lines = svg.append('g').attr('data-part', 'lines').attr('fill', 'none');
  const cursor = svg.append('g').attr('data-part', 'cursor');
  const marks = svg.append('g').attr('data-part', 'points');
  let drawn: { geometry: ScalingGeometry; data: ScalingChartData } | null = null;

  const pointUnder = (event: PointerEvent): ScalingPoint | null => {
    if (drawn === null) return null;
    const [x, y] = pointer(event, element);
    return nearestPoint(drawn.data.series, drawn.geometry, { x, y, withinPx: reachPx });
  };
  svg
    .on('pointermove', (event: PointerEvent) => events.onCursor(pointUnder(event)?.key ?? null))
    .on('pointerleave', () => events.onCursor(null))
    .on('click', (event: PointerEvent) => {
      const point = pointUnder(event);
      if (point !== null) events.onSelect(point.key);
    });

  return {
    update(data) {
      const { width, height, series, references } = data;
      const frame = { width, height, margin };
      const geometry = scalingGeometry(series, {
        frame,
        xs: data.xs,
        references: references.map((reference) => reference.value),
      });
      drawn = { geometry, data };
      svg.attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height);
      drawLeftAxis(
        leftAxis,
        { values: geometry.yTicks, position: geometry.y, format: data.formatAxis },
        { left: geometry.left, right: geometry.right },
      );
      drawBottomAxis(
        bottomAxis,
        { values: geometry.xTicks, position: geometry.x, format: data.axis.format },
        { bottom: geometry.bottom },
      );
      axisTitle
        .attr('x', px(geometry.right))
        .attr('y', height - 6)
        .text(data.axis.title);
      drawGuides(guides, geometry, data);
      drawLines(lines, geometry, series);
      drawPoints(marks, geometry, data);
      drawCursor(cursor, geometry, data);
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null).on('click', null);
      svg.selectAll('*').remove();
    },
  };
}

type Group = Selection<SVGGElement, unknown, null, undefined>;

function drawGuides(group: Group, geometry: ScalingGeometry, data: ScalingChartData): void {
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
      entry.append('line').attr('stroke-width', 1);
      entry
        .append('text')
        .attr('font-size', 11)
        .attr('paint-order', 'stroke')
        .attr('stroke', themeColor.surface)
        .attr('stroke-width', 4)
        .attr('stroke-linejoin', 'round');
      return entry;
    });
  references
    .select('line')
    .attr('stroke', (d) => systemColor(d.system))
    .attr('x1', geometry.left)
    .attr('x2', geometry.right)
    .attr('y1', (d) => px(geometry.y(d.value)))
    .attr('y2', (d) => px(geometry.y(d.value)));
  const labels = data.references.map(({ label, shortLabel, value }) =>
    placeLabel([label, shortLabel], geometry.y(value), { series: data.series, geometry }),
  );
  references
    .select('text')
    .data(labels)
    .attr('fill', (_, index) => systemColor(data.references[index]!.system))
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .text((label) => label.text);
}

function drawLines(group: Group, { x, y }: ScalingGeometry, series: readonly ScalingSeries[]): void {
  const path = line<ScalingPoint>(
    (point) => px(x(point.x)),
    (point) => px(y(point.value)),
  );
  group
    .selectAll<SVGPathElement, ScalingSeries>('path')
    .data(
      series.filter((entry) => entry.drawnAs !== 'measured'),
      (entry) => entry.id,
    )
    .join('path')
    .attr('data-series', (entry) => entry.id)
    .attr('stroke', (entry) => entry.color ?? systemColor(entry.system))
    .attr('stroke-width', (entry) => (entry.drawnAs === 'simulated' ? 2.5 : 1.75))
    .attr('stroke-linejoin', 'round')
    .attr('stroke-linecap', (entry) => (entry.drawnAs === 'simulated' ? 'round' : null))
    .attr('stroke-dasharray', (entry) =>
      entry.drawnAs === 'simulated' ? simulatedDash : roundTripDash(entry.roundTripMs),
    )
    .attr('d', (entry) => path(entry.points));
}

function drawPoints(group: Group, { x, y }: ScalingGeometry, data: ScalingChartData): void {
  const items = data.series
    .filter((series) => series.drawnAs !== 'simulated')
    .flatMap((series) => series.points.map((point) => ({ series, point })));
  group
    .selectAll<SVGPathElement, (typeof items)[number]>('path')
    .data(items, (item) => item.point.key)
    .join((enter) => enter.append('path').attr('data-new', ''))
    .attr('data-point', (item) => item.point.key)
    .attr('d', (item) => symbol(instanceShape(item.series.instances), pointArea)())
    .attr('fill', (item) => item.series.color ?? systemColor(item.series.system))
    .attr('stroke', themeColor.surface)
    .attr('stroke-width', 1.25)
    .attr('transform', (item) => `translate(${px(x(item.point.x))},${px(y(item.point.value))})`);
}

/** Rings around the selected point and the one under the cursor, and a vertical line at the cursor. */
function drawCursor(group: Group, geometry: ScalingGeometry, data: ScalingChartData): void {
  const at = findPoint(data.series, data.cursor);
  group
    .selectAll<SVGLineElement, ScalingPoint>('line')
    .data(at === null ? [] : [at.point])
    .join('line')
    .attr('stroke', themeColor.strong)
    .attr('x1', (point) => px(geometry.x(point.x)))
    .attr('x2', (point) => px(geometry.x(point.x)))
    .attr('y1', geometry.top)
    .attr('y2', geometry.bottom);
  const rings = [data.selected, data.cursor]
    .map((key, index) => ({ found: findPoint(data.series, key), role: index === 0 ? 'selected' : 'cursor' }))
    .filter((ring) => ring.found !== null);
  group
    .selectAll<SVGCircleElement, (typeof rings)[number]>('circle')
    .data(rings, (ring) => ring.role)
    .join('circle')
    .attr('data-ring', (ring) => ring.role)
    .attr('fill', 'none')
    .attr('stroke', (ring) => (ring.role === 'selected' ? themeColor.accent : themeColor.text))
    .attr('stroke-width', (ring) => (ring.role === 'selected' ? 2.5 : 1.5))
    .attr('r', (ring) => (ring.role === 'selected' ? 11 : 8.5))
    .attr('cx', (ring) => px(geometry.x(ring.found!.point.x)))
    .attr('cy', (ring) => px(geometry.y(ring.found!.point.value)));
}
