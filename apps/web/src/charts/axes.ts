/** Axes drawn plainly: hairlines, tabular figures, a unit only in the chart's heading. */
import type { Selection } from 'd3-selection';
import { ink } from './ink.ts';

type Group = Selection<SVGGElement, unknown, null, undefined>;

export interface Ticks {
  values: readonly number[];
  position(value: number): number;
  format(value: number): string;
}

/** Horizontal rules with their labels at the left edge of the plot. */
export function drawLeftAxis(group: Group, ticks: Ticks, plot: { left: number; right: number }): void {
  const rows = group
    .selectAll<SVGGElement, number>('g')
    .data(ticks.values, String)
    .join((enter) => {
      const row = enter.append('g');
      row.append('line').attr('stroke', ink.line);
      row
        .append('text')
        .attr('text-anchor', 'end')
        .attr('dy', '0.32em')
        .attr('fill', ink.muted)
        .attr('font-size', 11);
      return row;
    });
  rows.attr('transform', (value) => `translate(0,${px(ticks.position(value))})`);
  rows.select('line').attr('x1', plot.left).attr('x2', plot.right);
  rows
    .select('text')
    .attr('x', plot.left - 8)
    .text((value) => ticks.format(value));
}

/** Short marks with their labels under the plot. */
export function drawBottomAxis(group: Group, ticks: Ticks, plot: { bottom: number }): void {
  const marks = group
    .selectAll<SVGGElement, number>('g')
    .data(ticks.values, String)
    .join((enter) => {
      const mark = enter.append('g');
      mark.append('line').attr('stroke', ink.strong).attr('y2', 4);
      mark
        .append('text')
        .attr('text-anchor', 'middle')
        .attr('y', 17)
        .attr('fill', ink.muted)
        .attr('font-size', 11);
      return mark;
    });
  marks.attr('transform', (value) => `translate(${px(ticks.position(value))},${px(plot.bottom)})`);
  marks.select('text').text((value) => ticks.format(value));
}

/** Positions to a tenth of a pixel: sharper than any screen, and stable in files. */
export const px = (value: number): number => Math.round(value * 10) / 10;
