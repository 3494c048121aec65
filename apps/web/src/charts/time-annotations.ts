/** Draws annotations: a vertical line for each event, with its label next to it. */
import type { Selection } from 'd3-selection';
import type { TimeAnnotation } from '../model/time-chart-data.ts';
import { px } from './axes.ts';
import { themeColor } from './visual-encoding.ts';

type Group = Selection<SVGGElement, unknown, null, undefined>;

/** The edges of the plot in CSS pixels, and the scale of its time axis. */
export interface AnnotationPlot {
  x(atMs: number): number;
  top: number;
  right: number;
  bottom: number;
}

const labelRowPx = 13;
/** Estimated width of a character, CSS pixels. */
const characterPx = 6;

/** Draws a dashed line for each annotation. Labels that would overlap move to the next row. */
export function drawAnnotations(
  group: Group,
  annotations: readonly TimeAnnotation[],
  plot: AnnotationPlot,
): void {
  const { x, top, right, bottom } = plot;
  const rowEnds: number[] = [];
  const placed = annotations.map((annotation, index) => {
    const at = x(annotation.atMs);
    const width = annotation.label.length * characterPx + 8;
    const isBefore = at + width > right;
    const from = isBefore ? at - width : at;
    const free = rowEnds.findIndex((end) => end <= from);
    const row = free === -1 ? rowEnds.length : free;
    rowEnds[row] = from + width;
    return { ...annotation, key: `${annotation.atMs}/${index}`, at, row, isBefore };
  });
  group
    .selectAll<SVGLineElement, (typeof placed)[number]>('line')
    .data(placed, (d) => d.key)
    .join('line')
    .attr('stroke', themeColor.muted)
    .attr('stroke-dasharray', '2 3')
    .attr('x1', (d) => px(d.at))
    .attr('x2', (d) => px(d.at))
    .attr('y1', top)
    .attr('y2', bottom);
  group
    .selectAll<SVGTextElement, (typeof placed)[number]>('text')
    .data(placed, (d) => d.key)
    .join('text')
    .attr('fill', themeColor.text)
    .attr('font-size', 11)
    .attr('paint-order', 'stroke')
    .attr('stroke', themeColor.surface)
    .attr('stroke-width', 3)
    .attr('text-anchor', (d) => (d.isBefore ? 'end' : 'start'))
    .attr('x', (d) => px(d.at + (d.isBefore ? -4 : 4)))
    .attr('y', (d) => top + 9 + d.row * labelRowPx)
    .text((d) => d.label)
    .raise(); // above the lines of later annotations
}
