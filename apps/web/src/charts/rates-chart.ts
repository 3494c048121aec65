/**
 * Rates over the measured window of a trial: a line for each participant, and a band of one standard deviation around its mean.
 * Coordinates are CSS pixels; `ratesScales` has the transforms from milliseconds and from messages per second.
 */
import { scaleLinear } from 'd3-scale';
import { pointer, select } from 'd3-selection';
import { line } from 'd3-shape';
import type { RateLine } from '../model/rate-lines.ts';
import type { Chart, Size } from './chart.ts';
import { drawMarks, type Mark, sizeSvg } from './marks.ts';
import { fontFamily, lineColors, themeColor } from './visual-encoding.ts';

export interface RatesData extends Size {
  lines: readonly RateLine[];
  format(perSec: number): string;
  /** Milliseconds from the beginning of the window. */
  cursor: number | null;
}

export interface RatesEvents {
  onCursor(atMs: number | null): void;
}

const margin = { top: 10, right: 12, bottom: 24, left: 50 };
const bandOpacity = 0.16;

export const rateColor = (index: number): string => lineColors[index % lineColors.length]!;

export function ratesScales({ lines, width, height }: Pick<RatesData, 'lines' | 'width' | 'height'>) {
  const points = lines.flatMap((each) => each.points);
  const sliceMs = 2 * (lines[0]?.points[0]?.atMs ?? 0.5);
  const high = lines.flatMap(({ mean, deviation }) => mean + deviation);
  return {
    x: scaleLinear()
      .domain([0, Math.max(0, ...points.map(({ atMs }) => atMs)) + sliceMs / 2])
      .range([margin.left, Math.max(margin.left + 1, width - margin.right)]),
    y: scaleLinear()
      .domain([0, Math.max(1, ...high, ...points.map(({ perSec }) => perSec))])
      .nice(4)
      .range([height - margin.bottom, margin.top]),
  };
}

export function createRatesChart(element: SVGSVGElement, events: RatesEvents): Chart<RatesData> {
  const svg = select(element).attr('font-family', fontFamily);
  const axes = svg.append('g').attr('data-part', 'axes').attr('font-size', 11);
  const bands = svg.append('g').attr('data-part', 'bands');
  const lines = svg.append('g').attr('data-part', 'lines');
  const front = svg.append('g').attr('data-part', 'cursor');
  let drawn: RatesData | null = null;
  svg
    .on('pointermove', (event: PointerEvent) => {
      if (drawn === null) return;
      const { x } = ratesScales(drawn);
      const [first, last] = x.domain() as [number, number];
      events.onCursor(Math.min(last, Math.max(first, x.invert(pointer(event, element)[0]))));
    })
    .on('pointerleave', () => events.onCursor(null));
  return {
    update(data) {
      drawn = data;
      sizeSvg(svg, data);
      drawMarks(axes, axesOf(data));
      drawMarks(bands, bandsOf(data));
      drawMarks(lines, linesOf(data));
      drawMarks(front, cursorOf(data));
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null);
      svg.selectAll('*').remove();
    },
  };
}

function axesOf(data: RatesData): Mark[] {
  const { x, y } = ratesScales(data);
  const [left, right] = x.range() as [number, number];
  const [bottom] = y.range() as [number, number];
  return [
    ...y.ticks(4).flatMap((tick): Mark[] => [
      {
        key: `row-${tick}`,
        tag: 'line',
        attrs: { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: themeColor.line },
      },
      {
        key: `rate-${tick}`,
        tag: 'text',
        attrs: { x: left - 8, y: y(tick) + 4, 'text-anchor': 'end', fill: themeColor.muted },
        text: data.format(tick),
      },
    ]),
    ...x.ticks(data.width < 520 ? 3 : 6).map(
      (tick): Mark => ({
        key: `time-${tick}`,
        tag: 'text',
        attrs: { x: x(tick), y: bottom + 17, 'text-anchor': 'middle', fill: themeColor.muted },
        text: `${tick / 1_000} s`,
      }),
    ),
  ];
}

function bandsOf(data: RatesData): Mark[] {
  const { x, y } = ratesScales(data);
  const [left, right] = x.range() as [number, number];
  return data.lines.flatMap(({ name, mean, deviation }, index): Mark[] => [
    {
      key: `${name}-band`,
      tag: 'rect',
      attrs: {
        x: left,
        width: right - left,
        y: y(mean + deviation),
        height: Math.max(1, y(Math.max(0, mean - deviation)) - y(mean + deviation)),
        fill: rateColor(index),
        'fill-opacity': String(bandOpacity),
      },
    },
  ]);
}

function linesOf(data: RatesData): Mark[] {
  const { x, y } = ratesScales(data);
  const path = line<RateLine['points'][number]>()
    .x(({ atMs }) => Math.round(x(atMs) * 10) / 10)
    .y(({ perSec }) => Math.round(y(perSec) * 10) / 10);
  return data.lines.map(
    ({ name, points }, index): Mark => ({
      key: name,
      tag: 'path',
      attrs: {
        d: path(points),
        fill: 'none',
        stroke: rateColor(index),
        'stroke-width': '1.75',
        'stroke-linejoin': 'round',
      },
    }),
  );
}

function cursorOf(data: RatesData): Mark[] {
  if (data.cursor === null) return [];
  const { x, y } = ratesScales(data);
  const at = x(data.cursor);
  const [bottom, top] = y.range() as [number, number];
  return [
    {
      key: 'cursor',
      tag: 'line',
      attrs: { x1: at, x2: at, y1: top, y2: bottom, stroke: themeColor.text },
    },
  ];
}
