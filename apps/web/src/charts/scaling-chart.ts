/** The log-log chart of a metric over threads or another parameter, with a line for each series. */
import { type Selection, select } from 'd3-selection';
import { line, symbol } from 'd3-shape';
import { type LabelPlace, placeReferenceLabels } from '../model/label-placement.ts';
import { type LineLabel, labelLinePx, placeLineLabels } from '../model/line-labels.ts';
import {
  coveredByLater,
  nearestPoint,
  type ScalingGeometry,
  scalingGeometry,
} from '../model/scaling-geometry.ts';
import { findPoint, type ScalingPoint, type ScalingSeries } from '../model/scaling-series.ts';
import type { SweepAxis } from '../model/sweep-axis.ts';
import { drawBottomAxis, drawLeftAxis, px } from './axes.ts';
import type { Chart, Size } from './chart.ts';
import {
  type DocumentCurveLine,
  drawDocumentCurveLabels,
  drawDocumentCurves,
} from './document-curve-lines.ts';
import { followPointer, type PointerEvents } from './follow-pointer.ts';
import { haloText } from './halo-text.ts';
import { drawPlotNote } from './plot-note.ts';
import { drawGuideLabels, drawGuides, type ReferenceLine } from './scaling-guides.ts';
import {
  coveredPointArea,
  coveredPx,
  fontFamily,
  ghostOpacity,
  instanceShape,
  lineColor,
  pointArea,
  roundTripDash,
  simulatedDash,
  themeColor,
} from './visual-encoding.ts';

/** One of several charts side by side that share the vertical axis. */
export interface ScalingPanel {
  id: string;
  /** Above the plot; empty for none. */
  title: string;
  /** In the middle of a plot without lines; left out for none. */
  note?: string;
  series: readonly ScalingSeries[];
  /** Position of the trial under way; null if it is not in this panel. */
  live: { x: number; value: number; system: string; color?: string } | null;
}

export interface ScalingChartData extends Size {
  /** Panels from left to right; at least one. */
  panels: readonly ScalingPanel[];
  axis: Pick<SweepAxis, 'title' | 'format'>;
  /** The planned values of the horizontal axis, so that it is complete before all points are measured. */
  xs: readonly number[];
  /** The vertical axis; null: made from the values. */
  domain: readonly [low: number, high: number] | null;
  references: readonly ReferenceLine[];
  /** A document's curves over the same axis; left out for none. */
  curves?: readonly DocumentCurveLine[];
  /** Whether to draw a line of slope one. */
  hasLinearGuide: boolean;
  /** Room at the right of each plot for labels that name its lines, in the place of a legend, CSS pixels; null for none. */
  labelWidth: number | null;
  formatAxis(value: number): string;
  /** Key of the point under the cursor. */
  cursor: string | null;
  /** Key of the point that the time charts show. */
  selected: string | null;
}

const margin = { top: 14, right: 18, bottom: 42, left: 50 };
/** Room above a plot for the title of its panel. */
const titleHeight = 18;
const panelGap = 14;
const panelWidthMin = 250;
const reachPx = 36;

export function createScalingChart(element: SVGSVGElement, events: PointerEvents): Chart<ScalingChartData> {
  const svg = select(element).attr('font-family', fontFamily);
  const panels = svg.append('g').attr('data-part', 'panels');
  const axisTitle = svg
    .append('text')
    .attr('text-anchor', 'end')
    .attr('fill', themeColor.muted)
    .attr('font-size', 11);
  let drawn: PanelDrawing[] = [];

  const keyAt = (x: number, y: number): string | null => {
    for (const { panel, geometry } of drawn) {
      const point = nearestPoint(panel.series, geometry, { x, y, withinPx: reachPx });
      if (point !== null) return point.key;
    }
    return null;
  };
  const stopFollowing = followPointer(element, keyAt, events);

  return {
    update(data) {
      const { width, height } = data;
      svg.attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height);
      const geometries = data.panels.map((_, index) => geometryOf(data, index));
      const labels = placeReferenceLabels(
        data.references,
        data.panels.map(({ series }, index) => ({ series, geometry: geometries[index]! })),
      );
      drawn = data.panels.map((panel, index) => ({
        panel,
        geometry: geometries[index]!,
        labels: labels[index]!,
      }));
      panels
        .selectAll<SVGGElement, (typeof drawn)[number]>('g[data-panel]')
        .data(drawn, ({ panel }) => panel.id)
        .join((enter) => enterPanel(enter.append('g')))
        .each(function (drawing) {
          drawPanel(select(this), { ...drawing, data });
        });
      axisTitle
        .attr('x', px(drawn.at(-1)!.geometry.right))
        .attr('y', height - 6)
        .text(data.axis.title);
    },
    destroy() {
      stopFollowing();
      svg.selectAll('*').remove();
    },
  };
}

/** The panels are equally wide, side by side where there is room; the first of a row has the labels of the vertical axis. */
function geometryOf(data: ScalingChartData, index: number): ScalingGeometry {
  const { width, height, panels, references, curves = [] } = data;
  const columns = columnsOf(data);
  const rows = Math.ceil(panels.length / columns);
  const right = data.labelWidth ?? margin.right;
  const each = (width - margin.left - panelGap * (columns - 1)) / columns;
  const left = margin.left + (index % columns) * (each + panelGap);
  const hasTitles = panels.some(({ title }) => title !== '');
  const top = Math.floor(index / columns) * (height / rows);
  const frame = {
    width,
    height,
    margin: {
      top: top + margin.top + (hasTitles ? titleHeight : 0),
      bottom: height - (top + height / rows) + margin.bottom,
      left,
      right: width - (left + each) + right,
    },
  };
  return scalingGeometry(
    panels.flatMap(({ series }) => series),
    {
      frame,
      xs: data.xs,
      references: [
        ...references.map(({ value }) => value),
        ...curves.flatMap(({ points }) => points.map(({ value }) => value)),
      ],
      domain: data.domain ?? undefined,
    },
  );
}

/** How many panels stand side by side. */
export const columnsOf = ({
  width,
  panels,
}: {
  width: number;
  panels: { readonly length: number };
}): number => (width >= panels.length * panelWidthMin ? panels.length : 1);

const parts = [
  'left-axis',
  'bottom-axis',
  'guides',
  'ranges',
  'lines',
  'guide-labels',
  'cursor',
  'points',
  'labels',
  'live',
];

function enterPanel(panel: Selection<SVGGElement, PanelDrawing, SVGGElement, unknown>) {
  panel.attr('data-panel', ({ panel: { id } }) => id);
  panel
    .append('text')
    .attr('data-text', 'title')
    .attr('font-size', 12)
    .attr('font-weight', 600)
    .attr('fill', themeColor.text);
  for (const part of parts) panel.append('g').attr('data-part', part);
  return panel;
}

interface PanelDrawing {
  panel: ScalingPanel;
  geometry: ScalingGeometry;
  /** Label positions of the references. */
  labels: readonly LabelPlace[];
}

function drawPanel(
  group: Selection<SVGGElement, unknown, null, undefined>,
  { panel, geometry, labels, data }: PanelDrawing & { data: ScalingChartData },
): void {
  const part = (name: string): Group => group.select<SVGGElement>(`[data-part=${name}]`);
  const isFirst = data.panels.indexOf(panel) % columnsOf(data) === 0;
  const { left, right, top, bottom } = geometry;
  group
    .select('[data-text=title]')
    .attr('x', px(left))
    .attr('y', px(top - 8))
    .text(panel.title);
  drawLeftAxis(
    part('left-axis'),
    { values: geometry.yTicks, position: geometry.y, format: isFirst ? data.formatAxis : () => '' },
    { left, right },
  );
  drawBottomAxis(
    part('bottom-axis'),
    { values: geometry.xTicks, position: geometry.x, format: data.axis.format },
    { bottom },
  );
  drawGuides(part('guides'), geometry, { ...data, ...panel, labels });
  const documents = { curves: data.curves ?? [], series: panel.series };
  drawDocumentCurves(part('guides'), geometry, documents);
  drawRanges(part('ranges'), geometry, panel.series);
  drawLines(part('lines').attr('fill', 'none'), geometry, panel.series);
  drawGuideLabels(part('guide-labels'), geometry, { ...data, ...panel, labels });
  drawDocumentCurveLabels(part('guide-labels'), geometry, documents);
  drawPoints(part('points'), geometry, panel.series);
  drawCursor(part('cursor'), geometry, { ...data, series: panel.series });
  drawLineLabels(part('labels'), geometry, data.labelWidth === null ? [] : panel.series);
  drawLive(part('live'), geometry, panel.live);
  drawPlotNote(part('live'), geometry, panel.note ?? '');
}

type Group = Selection<SVGGElement, unknown, null, undefined>;

const dashOf = ({ dash, roundTripMs }: ScalingSeries): string | null =>
  dash === undefined ? roundTripDash(roundTripMs) : dash;

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
    .attr('stroke', lineColor)
    .attr('stroke-width', (entry) => (entry.drawnAs === 'simulated' ? 2.5 : 1.75))
    .attr('stroke-opacity', (entry) => (entry.drawnAs === 'ghost' ? ghostOpacity : null))
    .attr('stroke-linejoin', 'round')
    .attr('stroke-linecap', (entry) => (entry.drawnAs === 'simulated' ? 'round' : null))
    .attr('stroke-dasharray', (entry) => (entry.drawnAs === 'simulated' ? simulatedDash : dashOf(entry)))
    .attr('d', (entry) => path(entry.points));
}

/** The range of the repeats, as vertical strokes through the marks. */
function drawRanges(group: Group, { x, y }: ScalingGeometry, series: readonly ScalingSeries[]): void {
  const [low, high] = y.domain() as [number, number];
  const inDomain = (value: number) => Math.min(high, Math.max(low, value));
  const items = series.flatMap((entry) =>
    entry.points.flatMap(({ key, x: at, range }) =>
      range === undefined ? [] : [{ color: lineColor(entry), key, at, range }],
    ),
  );
  group
    .selectAll<SVGLineElement, (typeof items)[number]>('line')
    .data(items, (item) => item.key)
    .join('line')
    .attr('data-range', (item) => item.key)
    .attr('stroke', (item) => item.color)
    .attr('stroke-width', 1.25)
    .attr('stroke-opacity', 0.75)
    .attr('x1', (item) => px(x(item.at)))
    .attr('x2', (item) => px(x(item.at)))
    .attr('y1', (item) => px(y(inDomain(item.range[1]))))
    .attr('y2', (item) => px(y(inDomain(item.range[0]))));
}

function drawLineLabels(group: Group, geometry: ScalingGeometry, series: readonly ScalingSeries[]): void {
  group
    .selectAll<SVGTextElement, LineLabel>('text')
    .data(placeLineLabels(series, geometry), (label) => label.id)
    .join('text')
    .attr('data-label', (label) => label.id)
    .call(haloText)
    .attr('fill', lineColor)
    .attr('x', (label) => px(label.x))
    .attr('y', (label) => px(label.y))
    .each(function writeLines({ lines, x }) {
      const text = select(this);
      if (lines.length === 1) text.text(lines[0]!);
      else
        text
          .text(null)
          .selectAll('tspan')
          .data(lines)
          .join('tspan')
          .attr('x', px(x))
          .attr('dy', (_, index) => (index === 0 ? null : labelLinePx))
          .text((line) => line);
    });
}

/** The trial under way: its rate of the moment, as a ring that pulses where motion is welcome (styles/charts.css). */
function drawLive(group: Group, { x, y }: ScalingGeometry, live: ScalingPanel['live']): void {
  const [low, high] = y.domain() as [number, number];
  group
    .selectAll<SVGCircleElement, NonNullable<ScalingPanel['live']>>('circle')
    .data(live === null ? [] : [live])
    .join('circle')
    .attr('data-live', '')
    .attr('class', 'pulse')
    .attr('r', 8)
    .attr('fill', lineColor)
    .attr('fill-opacity', 0.3)
    .attr('stroke', lineColor)
    .attr('stroke-width', 2)
    .attr('cx', (at) => px(x(at.x)))
    .attr('cy', (at) => px(y(Math.min(high, Math.max(low, at.value)))));
}

function drawPoints(group: Group, { x, y }: ScalingGeometry, shown: readonly ScalingSeries[]): void {
  const items = shown
    .filter(({ drawnAs }) => drawnAs !== 'simulated' && drawnAs !== 'ghost')
    .flatMap((series) => series.points.map((point) => ({ series, point })));
  const covered = coveredByLater(
    items.map(({ point }) => ({ x: x(point.x), y: y(point.value) })),
    coveredPx,
  );
  group
    .selectAll<SVGPathElement, (typeof items)[number]>('path')
    .data(items, (item) => item.point.key)
    .join((enter) => enter.append('path').attr('data-new', ''))
    .attr('data-point', (item) => item.point.key)
    .attr('d', (item, index) =>
      symbol(instanceShape(item.series.instances), covered[index] ? coveredPointArea : pointArea)(),
    )
    .attr('fill', (item) => lineColor(item.series))
    .attr('stroke', themeColor.surface)
    .attr('stroke-width', 1.25)
    .attr('transform', (item) => `translate(${px(x(item.point.x))},${px(y(item.point.value))})`);
}

/** Rings around the selected point and the one under the cursor, and a vertical line at the cursor. */
function drawCursor(
  group: Group,
  geometry: ScalingGeometry,
  data: Pick<ScalingChartData, 'cursor' | 'selected'> & { series: readonly ScalingSeries[] },
): void {
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
