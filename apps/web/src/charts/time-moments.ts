/** Marks of moments over the height of a chart, with what happened beside them. */
import type { Selection } from 'd3-selection';
import type { TimeMoment } from '../model/time-chart-data.ts';
import { px } from './axes.ts';
import { ink } from './ink.ts';

type Group = Selection<SVGGElement, unknown, null, undefined>;

/** Edges of the plot, CSS pixels, and where a time lies in it. */
export interface MomentPlot {
  x(atMs: number): number;
  top: number;
  right: number;
  bottom: number;
}

const momentRow = 13;
/** About what a character of a label takes, CSS pixels. */
const momentCharacter = 6;

/** A dashed line at each moment; labels that would meet go to the next row. */
export function drawMoments(group: Group, moments: readonly TimeMoment[], plot: MomentPlot): void {
  const { x, top, right, bottom } = plot;
  const rowEnds: number[] = [];
  const placed = moments.map((moment, index) => {
    const at = x(moment.atMs);
    const width = moment.label.length * momentCharacter + 8;
    const isBefore = at + width > right;
    const from = isBefore ? at - width : at;
    const free = rowEnds.findIndex((end) => end <= from);
    const row = free === -1 ? rowEnds.length : free;
    rowEnds[row] = from + width;
    return { ...moment, key: `${moment.atMs}/${index}`, at, row, isBefore };
  });
  group
    .selectAll<SVGLineElement, (typeof placed)[number]>('line')
    .data(placed, (d) => d.key)
    .join('line')
    .attr('stroke', ink.muted)
    .attr('stroke-dasharray', '2 3')
    .attr('x1', (d) => px(d.at))
    .attr('x2', (d) => px(d.at))
    .attr('y1', top)
    .attr('y2', bottom);
  group
    .selectAll<SVGTextElement, (typeof placed)[number]>('text')
    .data(placed, (d) => d.key)
    .join('text')
    .attr('fill', ink.text)
    .attr('font-size', 11)
    .attr('paint-order', 'stroke')
    .attr('stroke', ink.surface)
    .attr('stroke-width', 3)
    .attr('text-anchor', (d) => (d.isBefore ? 'end' : 'start'))
    .attr('x', (d) => px(d.at + (d.isBefore ? -4 : 4)))
    .attr('y', (d) => top + 9 + d.row * momentRow)
    .text((d) => d.label)
    .raise(); // over the lines of those that came later
}
