/** Charts of one group of marks with something under the pointer. */
import { pointer, select } from 'd3-selection';
import type { Chart, Size } from './chart.ts';
import { drawMarks, type Mark, sizeSvg } from './marks.ts';
import { fontFamily } from './visual-encoding.ts';

export interface PointedChartOptions<Data, Found> {
  /** Name of the group in the file of a test. */
  part: string;
  marksOf(data: Data): Mark[];
  /** Finds the element at a position of the drawing, CSS pixels; null if there is none. */
  findAt(data: Data, x: number, y: number): Found | null;
  /** Called when the pointer moves, and with null when it leaves. */
  onCursor(found: Found | null): void;
}

export function createPointedChart<Data extends Size, Found>(
  element: SVGSVGElement,
  { part, marksOf, findAt, onCursor }: PointedChartOptions<Data, Found>,
): Chart<Data> {
  const svg = select(element).attr('font-family', fontFamily);
  const marks = svg.append('g').attr('data-part', part).attr('font-size', 11);
  let drawn: Data | null = null;
  svg
    .on('pointermove', (event: PointerEvent) => {
      if (drawn !== null) onCursor(findAt(drawn, ...pointer(event, element)));
    })
    .on('pointerleave', () => onCursor(null));
  return {
    update(data) {
      drawn = data;
      sizeSvg(svg, data);
      drawMarks(marks, marksOf(data));
    },
    destroy() {
      svg.on('pointermove', null).on('pointerleave', null);
      svg.selectAll('*').remove();
    },
  };
}
