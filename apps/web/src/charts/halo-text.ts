/** Text over lines: an outline in the colour of the surface keeps it readable. For `selection.call`. */
import type { BaseType, Selection } from 'd3-selection';
import { themeColor } from './visual-encoding.ts';

export function haloText<Datum, Parent extends BaseType, ParentDatum>(
  texts: Selection<SVGTextElement, Datum, Parent, ParentDatum>,
): void {
  texts
    .attr('font-size', 11)
    .attr('paint-order', 'stroke')
    .attr('stroke', themeColor.surface)
    .attr('stroke-width', 4)
    .attr('stroke-linejoin', 'round');
}
