/** A chart over time: lines and bands, or stacked layers with a reference line such as the number of cores. */
import { type ScaleContinuousNumeric, scaleLinear, scaleLog } from 'd3-scale';
import { pointer, type Selection, select } from 'd3-selection';
import { area, line } from 'd3-shape';
import { formatClock, formatTimeOfDay } from '../model/format.ts';
import { decadeTicks, stepDown, stepUp } from '../model/scaling-geometry.ts';
import {
  hasValues,
  type TimeAnnotation,
  type TimeLayer,
  type TimeMarks,
  type TimePoint,
} from '../model/time-chart-data.ts';
import type { TimeRange } from '../model/time-series.ts';
import { drawBottomAxis, drawLeftAxis, px, type Ticks } from './axes.ts';
import type { Chart, Size } from './chart.ts';
import { drawPlotNote } from './plot-note.ts';
import { drawAnnotations } from './time-annotations.ts';
import { fontFamily, roundTripDash, systemColor, themeColor, waitColor } from './visual-encoding.ts';

export interface TimeChartData extends Size {
  range: TimeRange;
  /** Epoch milliseconds of time 0, for an axis that shows the time of day; without it, the time since then. */
  startMs?: number;
  marks: TimeMarks;
  /** Start and end of each trial, milliseconds since the start of the run. */
  trials: readonly { trial: number; fromMs: number; toMs: number }[];
  scale: 'linear' | 'log';
  /** A horizontal line at a value, such as the number of cores, see `shownReference`. The legend names it. */
  reference: number | null;
  /** Events to mark on the time axis. */
  annotations?: readonly TimeAnnotation[];
  /** In the middle of the plot while there are no values, and so no axis of them; left out for none. */
  note?: string;
  formatAxis(value: number): string;
}

export interface TimeChart extends Chart<TimeChartData> {
  /** Moves the shared cursor; null hides it. Cheap: nothing else is redrawn. */
  moveCursor(atMs: number | null): void;
}

type Scale = ScaleContinuousNumeric<number, number>;
type Group = Selection<SVGGElement, unknown, null, undefined>;

/**
 * Decades of a logarithmic axis. Smaller values are drawn at its lower end, or a stalled rate would squeeze all others.
 */
const logDecadesMax = 4;

const margin = { top: 10, right: 12, bottom: 24, left: 50 };

export function createTimeChart(
  element: SVGSVGElement,
  events: { onCursor(atMs: number | null): void },
): TimeChart {
  const svg = select(element).attr('font-family', fontFamily);
  const trialsGroup = svg.append('g').attr('data-part', 'trials');
  const leftAxis = svg.append('g').attr('data-part', 'left-axis');
  const bottomAxis = svg.append('g').attr('data-part', 'bottom-axis');
  const areas = svg.append('g').attr('data-part', 'areas');
  const lines = svg.append('g').attr('data-part', 'lines').attr('fill', 'none');
  const reference = svg.append('g').attr('data-part', 'reference');
  const noteGroup = svg.append('g').attr('data-part', 'note');
  const annotations = svg.append('g').attr('data-part', 'annotations');
  const cursor = svg
    .append('line')
    .attr('data-part', 'cursor')
    .attr('stroke', themeColor.text)
    .attr('stroke-width', 1)
    .attr('visibility', 'hidden');
  let x: Scale = scaleLinear([0, 1], [0, 1]);
  let cursorMs: number | null = null;

  const placeCursor = () => {
    const [from, to] = x.domain() as [number, number];
    const shown = cursorMs !== null && cursorMs >= from && cursorMs <= to;
    cursor.attr('visibility', shown ? 'visible' : 'hidden');
    if (shown) cursor.attr('x1', px(x(cursorMs!))).attr('x2', px(x(cursorMs!)));
  };
  svg
    .on('pointermove', (event: PointerEvent) => {
      const [from, to] = x.domain() as [number, number];
      events.onCursor(Math.min(to, Math.max(from, x.invert(pointer(event, element)[0]))));
    })
    .on('pointerleave', () => events.onCursor(null));

  return {
    update(data) {
      const { width, height, marks, range } = data;
      const right = Math.max(margin.left + 1, width - margin.right);
      const bottom = Math.max(margin.top + 1, height - margin.bottom);
      x = scaleLinear([range.fromMs, range.toMs], [margin.left, right]);
      const y = valueScale(data, [bottom, margin.top]);
      svg.attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height);
      drawTrials(trialsGroup, x, { ...data, bottom });
      const isEmpty = !hasValues(marks);
      const values = isEmpty ? [] : data.scale === 'log' ? sparseTicks(y, bottom - margin.top) : y.ticks(4);
      drawLeftAxis(leftAxis, { values, position: y, format: data.formatAxis }, { left: margin.left, right });
      const count = Math.max(2, Math.floor((right - margin.left) / 64));
      drawBottomAxis(
        bottomAxis,
        data.startMs === undefined
          ? { values: clockTicks(range, count), position: x, format: clockLabel }
          : { ...timeOfDayTicks(range, count, data.startMs), position: x },
        { bottom },
      );
      drawAreas(areas, x, y, marks);
      drawLines(lines, x, y, marks);
      drawReference(reference, y, { reference: data.reference, right });
      drawPlotNote(
        noteGroup,
        { left: margin.left, right, top: margin.top, bottom },
        isEmpty ? (data.note ?? '') : '',
      );
      drawAnnotations(annotations, data.annotations ?? [], { x, top: margin.top, right, bottom });
      cursor.attr('y1', margin.top).attr('y2', bottom);
      placeCursor();
    },
    moveCursor(atMs) {
      cursorMs = atMs;
      placeCursor();
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null);
      svg.selectAll('*').remove();
    },
  };
}

function valueScale(data: TimeChartData, range: [number, number]): Scale {
  const { marks, reference } = data;
  if (data.scale === 'log') {
    const high = stepUp(marks.max || 10);
    const low = Number.isFinite(marks.minPositive) ? stepDown(marks.minPositive) : high / 10;
    return scaleLog([Math.min(high / 10, Math.max(low, high / 10 ** logDecadesMax)), high], range);
  }
  return scaleLinear([0, Math.max(marks.max, reference ?? 0) * 1.08 || 1], range).nice(4);
}

/** At most one tick per 24 pixels. */
function sparseTicks(y: Scale, heightPx: number): number[] {
  const ticks = decadeTicks(y.domain() as [number, number]);
  const ticksMax = Math.max(2, Math.floor(heightPx / 24));
  const powers = ticks.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
  return ticks.length <= ticksMax
    ? ticks
    : powers.filter((_, index) => index % Math.ceil(powers.length / ticksMax) === 0);
}

const clockSteps = [
  0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
].map((seconds) => seconds * 1000);

/** Round times within a range, about `count` of them, in steps from 0.2 s to 12 h, or of as many times 12 h as it takes. */
export function clockTicks(range: TimeRange, count: number): number[] {
  return multiplesIn(range, clockStep(range, count));
}

/** The same at round times of the day. `startMs`: epoch milliseconds of time 0. */
export function timeOfDayTicks(range: TimeRange, count: number, startMs: number): Omit<Ticks, 'position'> {
  const step = Math.max(1_000, clockStep(range, count));
  const midnight = new Date(startMs).setHours(0, 0, 0, 0) - startMs;
  const ofDay = { fromMs: range.fromMs - midnight, toMs: range.toMs - midnight };
  return {
    values: multiplesIn(ofDay, step).map((at) => at + midnight),
    format: (at) => formatTimeOfDay(startMs + at, step < 60_000 ? 'second' : 'minute'),
  };
}

function clockStep({ fromMs, toMs }: TimeRange, count: number): number {
  const longest = clockSteps.at(-1)!;
  const step = clockSteps.find((candidate) => (toMs - fromMs) / candidate <= count);
  return step ?? longest * Math.ceil((toMs - fromMs) / longest / Math.max(1, count));
}

/** More than any axis has room for. */
const multiplesMax = 1_000;

function multiplesIn({ fromMs, toMs }: TimeRange, step: number): number[] {
  const multiples: number[] = [];
  // By index: a sum would not grow any more where a step is less than the digits that a number has.
  const first = Math.ceil(fromMs / step);
  for (let index = 0; (first + index) * step <= toMs && index <= multiplesMax; index += 1)
    multiples.push((first + index) * step);
  return multiples;
}

/** Elapsed time as a clock, with tenths for a tick between whole seconds. */
const clockLabel = (ms: number): string => formatClock(ms, ms % 1000 === 0 ? 'second' : 'tenth');

/** Shades every other trial, so that a jump of a curve is recognised as the start of another trial. */
function drawTrials(group: Group, x: Scale, data: TimeChartData & { bottom: number }): void {
  const [from, to] = x.domain() as [number, number];
  const even = data.trials.filter((trial) => trial.trial % 2 === 0);
  group
    .selectAll<SVGRectElement, TimeChartData['trials'][number]>('rect')
    .data(even, (trial) => String(trial.trial))
    .join('rect')
    .attr('fill', themeColor.well)
    .attr('x', (trial) => px(x(Math.max(from, trial.fromMs))))
    .attr('width', (trial) =>
      px(Math.max(0.5, x(Math.min(to, trial.toMs)) - x(Math.max(from, trial.fromMs)))),
    )
    .attr('y', margin.top)
    .attr('height', data.bottom - margin.top);
}

function drawAreas(group: Group, x: Scale, y: Scale, { bands, layers }: TimeMarks): void {
  const floor = y.domain()[0]!;
  const path = area<{ atMs: number; low: number; high: number }>()
    .x((point) => px(x(point.atMs)))
    .y0((point) => px(y(Math.max(floor, point.low))))
    .y1((point) => px(y(Math.max(floor, point.high))));
  const items = [
    ...bands.map((band) => ({
      id: band.id,
      fill: systemColor(band.system),
      opacity: 0.24,
      points: band.points,
    })),
    ...layers.map((layer) => ({ id: layer.id, ...layerFill(layer), points: layer.points })),
  ];
  group
    .selectAll<SVGPathElement, (typeof items)[number]>('path')
    .data(items, (item) => item.id)
    .join('path')
    .attr('fill', (item) => item.fill)
    .attr('fill-opacity', (item) => item.opacity)
    .attr('d', (item) => path(widenSingle(item.points)));
}

function layerFill({ kind }: TimeLayer): { fill: string; opacity: number } {
  if ('wait' in kind) return { fill: waitColor[kind.wait] ?? themeColor.muted, opacity: 0.9 };
  return { fill: systemColor(kind.system), opacity: kind.instance % 2 === 1 ? 0.75 : 0.45 };
}

/** Widens a trial with a single sample, which would otherwise be invisible. */
function widenSingle<Point extends { atMs: number }>(points: readonly Point[]): readonly Point[] {
  const [only] = points;
  return points.length === 1 && only !== undefined ? [{ ...only, atMs: only.atMs - 120 }, only] : points;
}

function drawLines(group: Group, x: Scale, y: Scale, { lines }: TimeMarks): void {
  const floor = y.domain()[0]!;
  const path = line<TimePoint>(
    (point) => px(x(point.atMs)),
    (point) => px(y(Math.max(floor, point.value))),
  );
  group
    .selectAll<SVGPathElement, (typeof lines)[number]>('path')
    .data(lines, (entry) => entry.id)
    .join('path')
    .attr('data-line', (entry) => entry.id)
    .attr('stroke', (entry) => systemColor(entry.system))
    .attr('stroke-width', (entry) => (entry.role === 'primary' ? 1.75 : 1.5))
    .attr('stroke-opacity', (entry) => (entry.role === 'primary' ? 1 : 0.8))
    .attr('stroke-dasharray', (entry) => roundTripDash(entry.roundTripMs))
    .attr('stroke-linejoin', 'round')
    .attr('d', (entry) => path(widenSingle(entry.points)));
}

function drawReference(
  group: Group,
  y: Scale,
  { reference, right }: { reference: number | null; right: number },
): void {
  group
    .selectAll<SVGLineElement, number>('line')
    .data(reference === null ? [] : [reference])
    .join('line')
    .attr('stroke', themeColor.text)
    .attr('stroke-width', 1)
    .attr('x1', margin.left)
    .attr('x2', right)
    .attr('y1', (value) => px(y(value)))
    .attr('y2', (value) => px(y(value)));
}
