/** Ratios to a baseline with their intervals: a row for each point, a mark for each run, on a logarithmic axis around 1. */
import { scaleLog } from 'd3-scale';
import { select } from 'd3-selection';
import type { ComparedPoint, RunRatio } from '../model/compare-runs.ts';
import { textWidth } from '../model/text-lines.ts';
import type { Chart } from './chart.ts';
import { followPointer, type PointerEvents } from './follow-pointer.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import { fontFamily, themeColor } from './visual-encoding.ts';

export interface CompareData {
  width: number;
  rows: readonly ComparedPoint[];
  /** One for each run; the baseline's is not drawn. */
  colors: readonly string[];
  format(ratio: number): string;
  /** Keys of rows. */
  cursor: string | null;
  selected: string | null;
}

const labelHeight = 18;
const markHeight = 13;
const axisHeight = 26;
const edge = 26;
/** Between the labels of two ticks. */
const labelGap = 8;

const rowHeight = (runs: number): number => labelHeight + Math.max(1, runs - 1) * markHeight + 6;

export const compareHeight = (rows: number, runs: number): number => rows * rowHeight(runs) + axisHeight;

export function createCompareChart(element: SVGSVGElement, events: PointerEvents): Chart<CompareData> {
  const svg = select(element).attr('font-family', fontFamily);
  const marks = svg.append('g').attr('data-part', 'ratios').attr('font-size', 11);
  let drawn: CompareData | null = null;
  const keyAt = (_x: number, y: number): string | null =>
    drawn?.rows[Math.floor(y / rowHeight(drawn.colors.length))]?.key ?? null;
  const stopFollowing = followPointer(element, keyAt, events);
  return {
    update(data) {
      drawn = data;
      sizeSvg(svg, { width: data.width, height: compareHeight(data.rows.length, data.colors.length) });
      drawMarks(marks, marksOf(data));
    },
    destroy() {
      stopFollowing();
      svg.selectAll('*').remove();
    },
  };
}

const spanOf = ({ interval, range }: RunRatio) => interval ?? range;

function marksOf(data: CompareData): Mark[] {
  const { width, rows, colors, format, cursor, selected } = data;
  const values = rows.flatMap(({ ratios }) => ratios.flatMap((each) => (each === null ? [] : spanOf(each))));
  const reach = Math.max(1.05, ...values.map((value) => Math.max(value, 1 / value)).filter(Number.isFinite));
  const x = scaleLog()
    .domain([1 / reach, reach])
    .range([edge, width - edge]);
  const height = rowHeight(colors.length);
  const bottom = rows.length * height;
  const ticks = ticksFor(reach);
  const labelled = new Set(labelledTicks(ticks, { x, format }));
  return [
    ...rows.flatMap(({ key }, index): Mark[] =>
      key === selected || key === cursor
        ? [
            {
              key: `${key}/back`,
              tag: 'rect',
              attrs: {
                x: 0,
                y: index * height,
                width,
                height: height - 2,
                rx: '4',
                fill: themeColor.well,
                stroke: key === selected ? themeColor.accent : null,
              },
            },
          ]
        : [],
    ),
    ...ticks.flatMap((tick): Mark[] => [
      {
        key: `line-${tick}`,
        tag: 'line',
        attrs: {
          x1: x(tick),
          x2: x(tick),
          y1: 0,
          y2: bottom,
          stroke: tick === 1 ? themeColor.strong : themeColor.line,
          'stroke-width': tick === 1 ? '1.5' : '1',
        },
      },
      ...(labelled.has(tick)
        ? [
            {
              key: `tick-${tick}`,
              tag: 'text',
              attrs: { x: x(tick), y: bottom + 16, 'text-anchor': 'middle', fill: themeColor.muted },
              text: format(tick),
            } satisfies Mark,
          ]
        : []),
    ]),
    ...rows.flatMap(({ key, words, ratios }, index): Mark[] => [
      {
        key: `${key}/label`,
        tag: 'text',
        attrs: {
          x: 4,
          y: index * height + 13,
          fill: themeColor.text,
          'paint-order': 'stroke',
          stroke: themeColor.surface,
          'stroke-width': '3',
        },
        text: fitText(words, width - 8),
      },
      ...ratios.flatMap((ratio, run) =>
        ratio === null
          ? []
          : ratioMarks({
              key: `${key}/${run}`,
              ratio,
              x,
              y: index * height + labelHeight + (run - 1) * markHeight + markHeight / 2,
              color: colors[run]!,
            }),
      ),
    ]),
  ];
}

/** An interval is a solid bar, a range of repeats a thin line. */
function ratioMarks(options: {
  key: string;
  ratio: RunRatio;
  x(value: number): number;
  y: number;
  color: string;
}): Mark[] {
  const { key, ratio, x, y, color } = options;
  const [low, high] = spanOf(ratio);
  return [
    {
      key: `${key}/span`,
      tag: 'line',
      attrs: {
        x1: x(low),
        x2: x(high),
        y1: y,
        y2: y,
        stroke: color,
        'stroke-width': ratio.interval === null ? '1' : '4',
        'stroke-opacity': '0.55',
      },
    },
    { key: `${key}/dot`, tag: 'circle', attrs: { cx: x(ratio.ratio), cy: y, r: '4', fill: color } },
  ];
}

/** Symmetric around 1. */
function ticksFor(reach: number): number[] {
  const steps = [1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 30, 100].filter((step) => step <= reach);
  const shown = steps.slice(-2);
  return [...shown.map((step) => 1 / step).reverse(), 1, ...shown];
}

/** Ticks whose labels do not touch another: 1 first, then the outer ones, which show the range of the axis. */
function labelledTicks(
  ticks: readonly number[],
  { x, format }: { x(value: number): number; format(ratio: number): string },
): number[] {
  const shown: number[] = [];
  const fits = (tick: number) =>
    shown.every((other) => {
      const labelsPx = (textWidth(format(tick)) + textWidth(format(other))) / 2;
      return Math.abs(x(tick) - x(other)) >= labelsPx + labelGap;
    });
  const outerFirst = ticks.toSorted((a, b) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)));
  for (const tick of [1, ...outerFirst.filter((each) => each !== 1)]) if (fits(tick)) shown.push(tick);
  return shown;
}
