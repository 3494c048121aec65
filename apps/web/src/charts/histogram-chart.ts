/** Distributions by powers of two: ours as bars, those that it is compared with as outlines. Shares, so that counts may differ. */
import { scaleLinear } from 'd3-scale';
import type { Chart, Size } from './chart.ts';
import type { Mark } from './marks.ts';
import { createPointedChart } from './pointed-chart.ts';
import { themeColor } from './visual-encoding.ts';

export interface HistogramSeries {
  label: string;
  /** Share of all values in each bucket, 0 to 1. */
  shares: readonly number[];
  color: string;
  drawnAs: 'bars' | 'outline';
}

export interface HistogramData extends Size {
  /** The buckets that are shown, from left to right: text at the left edge of each. */
  edges: readonly string[];
  /** Title of the horizontal axis. */
  axisTitle: string;
  series: readonly HistogramSeries[];
  /** Index of a bucket. */
  cursor: number | null;
}

export interface HistogramEvents {
  onCursor(bucket: number | null): void;
}

const margin = { top: 8, right: 10, bottom: 40, left: 40 };

export function createHistogramChart(
  element: SVGSVGElement,
  { onCursor }: HistogramEvents,
): Chart<HistogramData> {
  const findAt = (data: HistogramData, x: number): number | null => {
    const bucket = Math.floor((x - margin.left) / stepOf(data));
    return bucket >= 0 && bucket < data.edges.length ? bucket : null;
  };
  return createPointedChart(element, { part: 'histogram', marksOf, findAt, onCursor });
}

const stepOf = ({ width, edges }: HistogramData) =>
  (width - margin.left - margin.right) / Math.max(1, edges.length);

function marksOf(data: HistogramData): Mark[] {
  const { width, height, edges, series, cursor } = data;
  const [top, bottom, left] = [margin.top, height - margin.bottom, margin.left];
  const step = stepOf(data);
  const most = Math.max(0.01, ...series.flatMap(({ shares }) => shares));
  const y = scaleLinear().domain([0, most]).nice(4).range([bottom, top]);
  const every = Math.max(1, Math.ceil(54 / step));
  return [
    ...y.ticks(4).flatMap((tick): Mark[] => [
      {
        key: `line-${tick}`,
        tag: 'line',
        attrs: { x1: left, x2: width - margin.right, y1: y(tick), y2: y(tick), stroke: themeColor.line },
      },
      {
        key: `tick-${tick}`,
        tag: 'text',
        attrs: { x: left - 6, y: y(tick) + 3.5, 'text-anchor': 'end', fill: themeColor.muted },
        text: `${Math.round(tick * 100)} %`,
      },
    ]),
    ...(cursor === null
      ? []
      : [
          {
            key: 'cursor',
            tag: 'rect',
            attrs: {
              x: left + cursor * step,
              y: top,
              width: step,
              height: bottom - top,
              fill: themeColor.well,
            },
          } satisfies Mark,
        ]),
    ...series
      .filter(({ drawnAs }) => drawnAs === 'bars')
      .flatMap(({ label, shares, color }) =>
        edges.map(
          (_, bucket): Mark => ({
            key: `${label}/${bucket}`,
            tag: 'rect',
            attrs: {
              x: left + bucket * step + 1,
              width: Math.max(1, step - 2),
              y: y(shares[bucket] ?? 0),
              height: bottom - y(shares[bucket] ?? 0),
              fill: color,
              'fill-opacity': '0.85',
            },
          }),
        ),
      ),
    ...series
      .filter(({ drawnAs }) => drawnAs === 'outline')
      .map(
        ({ label, shares, color }): Mark => ({
          key: label,
          tag: 'path',
          attrs: {
            fill: 'none',
            stroke: color,
            'stroke-width': '2',
            d: `M${left},${bottom}${edges
              .map((_, bucket) => {
                const at = y(shares[bucket] ?? 0).toFixed(1);
                return `V${at}H${(left + (bucket + 1) * step).toFixed(1)}`;
              })
              .join('')}V${bottom}`,
          },
        }),
      ),
    ...edges.flatMap((edge, bucket): Mark[] =>
      bucket % every === 0
        ? [
            {
              key: `edge-${bucket}`,
              tag: 'text',
              attrs: {
                x: left + bucket * step,
                y: bottom + 16,
                'text-anchor': 'middle',
                fill: themeColor.muted,
              },
              text: edge,
            },
          ]
        : [],
    ),
    {
      key: 'axis-title',
      tag: 'text',
      attrs: { x: width - margin.right, y: height - 6, 'text-anchor': 'end', fill: themeColor.muted },
      text: data.axisTitle,
    },
  ];
}
