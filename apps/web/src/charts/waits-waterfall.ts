/** A waterfall from one total to another: a floating bar for each change. One row each, so that labels fit on a phone. */
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import type { Chart } from './chart.ts';
import { drawMarks, fitText, type Mark, sizeSvg } from './marks.ts';
import type { LegendItem } from './svg-document.ts';
import { fontFamily, themeColor } from './visual-encoding.ts';
import type { EventColor } from './waits-color.ts';

export interface WaterfallStep {
  name: string;
  from: number;
  to: number;
}

export interface WaterfallData {
  width: number;
  from: { label: string; value: number };
  to: { label: string; value: number };
  /** In order; their differences add up to that of the totals. */
  steps: readonly WaterfallStep[];
  colors: ReadonlyMap<string, EventColor>;
  format(value: number): string;
  /** Formats a change with its sign. */
  formatChange(value: number): string;
}

const rowHeight = 44;
const barHeight = 16;
/** Room for the value behind a bar. */
const valueWidth = 76;

/** Colour of the bars at both ends, and of an event without a colour. */
const totalColor: EventColor = { fill: themeColor.strong, opacity: 1 };

export const waterfallHeight = (steps: number): number => (steps + 2) * rowHeight;

/** Legend of saved images: on the page each bar has its name above it. */
export const waterfallLegend = ({ steps, colors }: Pick<WaterfallData, 'steps' | 'colors'>): LegendItem[] => [
  { label: 'the whole time, at each point', color: totalColor.fill, opacity: totalColor.opacity },
  ...steps.map(({ name }) => {
    const { fill, opacity } = colors.get(name) ?? totalColor;
    return { label: name, color: fill, opacity };
  }),
];

interface Row {
  key: string;
  label: string;
  value: string;
  low: number;
  high: number;
  color: EventColor;
}

export function createWaterfall(element: SVGSVGElement): Chart<WaterfallData> {
  const svg = select(element).attr('font-family', fontFamily);
  const rows = svg.append('g').attr('data-part', 'rows').attr('font-size', 12);
  return {
    update(data) {
      sizeSvg(svg, { width: data.width, height: waterfallHeight(data.steps.length) });
      drawMarks(rows, marksOf(data));
    },
    destroy() {
      svg.selectAll('*').remove();
    },
  };
}

function rowsOf({ from, to, steps, colors, format, formatChange }: WaterfallData): Row[] {
  let at = from.value;
  const changes = steps.map(({ name, from: before, to: after }): Row => {
    const next = at + after - before;
    const row = {
      key: name,
      label: name,
      value: formatChange(after - before),
      low: Math.min(at, next),
      high: Math.max(at, next),
      color: colors.get(name) ?? totalColor,
    };
    at = next;
    return row;
  });
  return [
    {
      key: 'from',
      label: from.label,
      value: format(from.value),
      low: 0,
      high: from.value,
      color: totalColor,
    },
    ...changes,
    { key: 'to', label: to.label, value: format(to.value), low: 0, high: to.value, color: totalColor },
  ];
}

function marksOf(data: WaterfallData): Mark[] {
  const rows = rowsOf(data);
  const x = scaleLinear()
    .domain([Math.min(0, ...rows.map(({ low }) => low)), Math.max(1e-9, ...rows.map(({ high }) => high))])
    .range([0, Math.max(40, data.width - valueWidth)]);
  return rows.flatMap((row, index): Mark[] => {
    const top = index * rowHeight;
    const isTotal = index === 0 || index === rows.length - 1;
    return [
      {
        key: `${row.key}/label`,
        tag: 'text',
        attrs: { x: 0, y: top + 14, fill: themeColor.text, 'font-weight': isTotal ? '600' : null },
        text: fitText(row.label, data.width, 6.6),
      },
      {
        key: `${row.key}/bar`,
        tag: 'rect',
        attrs: {
          x: x(row.low),
          y: top + 20,
          width: Math.max(1.5, x(row.high) - x(row.low)),
          height: barHeight,
          rx: '2',
          fill: row.color.fill,
          'fill-opacity': String(row.color.opacity),
        },
      },
      {
        key: `${row.key}/value`,
        tag: 'text',
        attrs: { x: x(row.high) + 6, y: top + 20 + 12.5, fill: themeColor.text },
        text: row.value,
      },
    ];
  });
}
