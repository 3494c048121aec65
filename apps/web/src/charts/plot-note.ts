/** Text in the middle of an empty plot. */
import type { Selection } from 'd3-selection';
import { px } from './axes.ts';
import { haloText } from './halo-text.ts';
import { themeColor } from './visual-encoding.ts';

/** Edges of a plot, CSS pixels. */
interface Plot {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** `note`: empty for none. */
export function drawPlotNote(
  group: Selection<SVGGElement, unknown, null, undefined>,
  { left, right, top, bottom }: Plot,
  note: string,
): void {
  group
    .selectAll<SVGTextElement, string>('text')
    .data(note === '' ? [] : [note])
    .join((enter) => enter.append('text').call(haloText))
    .attr('text-anchor', 'middle')
    .attr('fill', themeColor.muted)
    .attr('x', px((left + right) / 2))
    .attr('y', px((top + bottom) / 2))
    .text((text) => text);
}
