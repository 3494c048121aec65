/**
 * Predicted over measured values, both axes logarithmic and the same: a prediction that is right lies on the diagonal, the
 * band around it is what the model aims at.
 */
import { extent } from 'd3-array';
import { type ScaleLogarithmic, scaleLog } from 'd3-scale';
import type { ScorePoint } from '../model/prediction-score.ts';
import type { Chart, Size } from './chart.ts';
import type { Mark } from './marks.ts';
import { createPointedChart } from './pointed-chart.ts';
import { systemColor, themeColor } from './visual-encoding.ts';

export interface ScoreData extends Size {
  /** Values are greater than 0. */
  points: readonly ScorePoint[];
  /** Half of the band's width, as a share: 0.2. */
  aim: number;
  formatAxis(value: number): string;
  /** Key of a point. */
  cursor: string | null;
}

export interface ScoreEvents {
  onCursor(key: string | null): void;
}

const margin = { top: 10, right: 14, bottom: 40, left: 52 };
const reachPx = 24;
const radius = 4.5;

export function createScoreChart(element: SVGSVGElement, { onCursor }: ScoreEvents): Chart<ScoreData> {
  return createPointedChart(element, { part: 'score', marksOf, findAt: nearest, onCursor });
}

interface Axes {
  x: ScaleLogarithmic<number, number>;
  y: ScaleLogarithmic<number, number>;
  ticks: number[];
}

function axesOf({ width, height, points }: ScoreData): Axes {
  const values = points.flatMap(({ measured, predicted }) => [measured, predicted]);
  const [low = 100, high = 10_000] = extent(values) as [number | undefined, number | undefined];
  const domain = [low / 1.4, high * 1.4];
  const x = scaleLog(domain, [margin.left, width - margin.right]);
  const y = scaleLog(domain, [height - margin.bottom, margin.top]);
  const powers = x.ticks().filter((tick) => Number.isInteger(Math.log10(tick)));
  const ticks = powers.length > 1 ? powers : x.ticks(4).filter((_, index) => index % 3 === 0);
  return { x, y, ticks };
}

function nearest(data: ScoreData, atX: number, atY: number): string | null {
  const { x, y } = axesOf(data);
  const distances = data.points.map(({ key, measured, predicted }) => ({
    key,
    px: Math.hypot(x(measured) - atX, y(predicted) - atY),
  }));
  const closest = distances.reduce((best, each) => (each.px < best.px ? each : best), {
    key: null as string | null,
    px: reachPx,
  });
  return closest.key;
}

function marksOf(data: ScoreData): Mark[] {
  const { width, height, points, aim, formatAxis, cursor } = data;
  const axes = axesOf(data);
  const { x, y, ticks } = axes;
  const [low, high] = x.domain() as [number, number];
  const right = width - margin.right;
  const bottom = height - margin.bottom;
  const chosen = points.filter(({ key }) => key === cursor);
  return [
    {
      key: 'band',
      tag: 'path',
      attrs: { d: bandOf(axes, aim), fill: themeColor.well, stroke: 'none' },
    },
    ...ticks.flatMap((tick): Mark[] => [
      {
        key: `row-${tick}`,
        tag: 'line',
        attrs: { x1: margin.left, x2: right, y1: y(tick), y2: y(tick), stroke: themeColor.line },
      },
      {
        key: `row-label-${tick}`,
        tag: 'text',
        attrs: { x: margin.left - 8, y: y(tick) + 3.5, 'text-anchor': 'end', fill: themeColor.muted },
        text: formatAxis(tick),
      },
      {
        key: `column-${tick}`,
        tag: 'line',
        attrs: { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, stroke: themeColor.strong },
      },
      {
        key: `column-label-${tick}`,
        tag: 'text',
        attrs: { x: x(tick), y: bottom + 17, 'text-anchor': 'middle', fill: themeColor.muted },
        text: formatAxis(tick),
      },
    ]),
    {
      key: 'diagonal',
      tag: 'line',
      attrs: { x1: x(low), y1: y(low), x2: x(high), y2: y(high), stroke: themeColor.strong },
    },
    ...[...points, ...chosen].map(({ key, system, measured, predicted, isDisturbed }, index): Mark => {
      const isChosen = index >= points.length;
      return {
        key: isChosen ? 'chosen' : key,
        tag: 'circle',
        attrs: {
          cx: x(measured),
          cy: y(predicted),
          r: isChosen ? radius + 3 : radius,
          fill: isDisturbed || isChosen ? 'none' : systemColor(system),
          'fill-opacity': '0.8',
          stroke: isChosen ? themeColor.text : systemColor(system),
          'stroke-width': '1.5',
        },
      };
    }),
    {
      key: 'x-title',
      tag: 'text',
      attrs: { x: right, y: height - 6, 'text-anchor': 'end', fill: themeColor.muted },
      text: 'measured, messages a second',
    },
    {
      key: 'y-title',
      tag: 'text',
      attrs: {
        x: margin.left + 6,
        y: margin.top + 10,
        fill: themeColor.muted,
        'paint-order': 'stroke',
        stroke: themeColor.surface,
        'stroke-width': '3',
      },
      text: 'predicted',
    },
  ];
}

/** Between the predictions that are too low and too high by the aim, within the plot. */
function bandOf({ x, y }: Axes, aim: number): string {
  const [low, high] = x.domain() as [number, number];
  const at = (measured: number, predicted: number) => {
    const [px, py] = [x(measured), y(predicted)];
    return `${Math.round(px * 10) / 10},${Math.round(py * 10) / 10}`;
  };
  const [over, under] = [1 + aim, 1 - aim];
  return `M${at(low, low)}L${at(low, low * over)}L${at(high / over, high)}L${at(high, high)}L${at(high, high * under)}L${at(low / under, low)}Z`;
}
