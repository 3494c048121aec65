/** Plain axes: hairlines and labels. The unit stands in the heading of the chart. */
import type { Selection } from 'd3-selection';
import { labelsThatFit } from '../model/tick-labels.ts';
import { themeColor } from './visual-encoding.ts';

type Group = Selection<SVGGElement, unknown, null, undefined>;

export interface Ticks {
  values: readonly number[];
  position(value: number): number;
  format(value: number): string;
}

/** Horizontal grid lines with labels at the left edge of the plot. */
export function drawLeftAxis(group: Group, ticks: Ticks, plot: { left: number; right: number }): void {
  const rows = group
    .selectAll<SVGGElement, number>('g')
    .data(ticks.values, String)
    .join((enter) => {
      const row = enter.append('g');
      row.append('line').attr('stroke', themeColor.line);
      row
        .append('text')
        .attr('text-anchor', 'end')
        .attr('dy', '0.32em')
        .attr('fill', themeColor.muted)
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

/** Short tick marks with labels below the plot, as many as fit. Values are in the order of their positions. */
export function drawBottomAxis(group: Group, ticks: Ticks, plot: { bottom: number }): void {
  const marks = group
    .selectAll<SVGGElement, number>('g')
    .data(ticks.values, String)
    .join((enter) => {
      const mark = enter.append('g');
      mark.append('line').attr('stroke', themeColor.strong).attr('y2', 4);
      mark
        .append('text')
        .attr('text-anchor', 'middle')
        .attr('y', 17)
        .attr('fill', themeColor.muted)
        .attr('font-size', 11);
      return mark;
    });
  marks.attr('transform', (value) => `translate(${px(ticks.position(value))},${px(plot.bottom)})`);
  const labels = ticks.values.map((value) => ({
    value,
    x: ticks.position(value),
    text: ticks.format(value),
  }));
  const shown = new Map(labelsThatFit(labels).map(({ value, text }) => [value, text]));
  marks.select('text').text((value) => shown.get(value) ?? '');
}

/** Rounds to a tenth of a pixel: finer than any screen, and stable in the chart files of the tests. */
export const px = (value: number): number => Math.round(value * 10) / 10;
