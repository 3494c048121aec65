/** Curves that a document prints: wide and pale behind our own, like the levels that it states. */
import type { Selection } from 'd3-selection';
import { line } from 'd3-shape';
import { placeOnCurve } from '../model/label-placement.ts';
import type { ScalingGeometry } from '../model/scaling-geometry.ts';
import type { ScalingSeries } from '../model/scaling-series.ts';
import { px } from './axes.ts';
import { haloText } from './halo-text.ts';
import { documentLine, lineColor } from './visual-encoding.ts';

type Group = Selection<SVGGElement, unknown, null, undefined>;

export interface DocumentCurveLine {
  id: string;
  label: string;
  system: string;
  points: readonly { x: number; value: number }[];
  /** Instead of the colour of the system. */
  color?: string;
}

interface CurveData {
  curves: readonly DocumentCurveLine[];
  series: readonly ScalingSeries[];
}

export function drawDocumentCurves(
  group: Group,
  geometry: ScalingGeometry,
  { curves }: Pick<CurveData, 'curves'>,
): void {
  const path = line<{ x: number; value: number }>(
    (point) => px(geometry.x(point.x)),
    (point) => px(geometry.y(point.value)),
  );
  group
    .selectAll<SVGPathElement, DocumentCurveLine>('path[data-curve]')
    .data(curves, ({ id }) => id)
    .join('path')
    .attr('data-curve', ({ id }) => id)
    .attr('fill', 'none')
    .attr('stroke-width', documentLine.width)
    .attr('stroke-opacity', documentLine.opacity)
    .attr('stroke-linejoin', 'round')
    .attr('stroke-linecap', 'round')
    .attr('stroke', lineColor)
    .attr('d', ({ points }) => path([...points]));
}

/** The labels of the curves, drawn over the lines of the series. */
export function drawDocumentCurveLabels(
  group: Group,
  geometry: ScalingGeometry,
  { curves, series }: CurveData,
): void {
  group
    .selectAll<SVGTextElement, DocumentCurveLine>('text[data-curve]')
    .data(curves, ({ id }) => id)
    .join('text')
    .attr('data-curve', ({ id }) => id)
    .call(haloText)
    .attr('fill', lineColor)
    .each(function place({ id, label, points }) {
      const others = curves.filter((curve) => curve.id !== id);
      const { text, x, y } = placeOnCurve(label, points, { series: [...series, ...others], geometry });
      this.setAttribute('x', String(px(x)));
      this.setAttribute('y', String(px(y)));
      this.textContent = text;
    });
}
