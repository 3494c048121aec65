/** Draws a chart from a list of marks: each is one SVG element with a key, so that an update changes only what differs. */
import { creator, type Selection } from 'd3-selection';
import { px } from './axes.ts';

export interface Mark {
  /** Unique in its list. */
  key: string;
  tag: 'rect' | 'line' | 'path' | 'text' | 'circle';
  /** Numbers are rounded to a tenth of a pixel; null leaves the attribute out. */
  attrs: Readonly<Record<string, string | number | null>>;
  /** Content of a text. */
  text?: string;
}

type Group = Selection<SVGGElement, unknown, null, undefined>;

/** Later marks cover earlier ones. */
export function drawMarks(group: Group, marks: readonly Mark[]): void {
  const drawn = group
    .selectChildren<SVGElement, Mark>()
    .data(marks, (mark) => `${mark.tag}/${mark.key}`)
    .join((enter) =>
      enter.append(function create(mark) {
        return creator<SVGElement>(mark.tag).call(this as never);
      }),
    );
  drawn.each(function draw(mark) {
    for (const name of this.getAttributeNames()) if (!(name in mark.attrs)) this.removeAttribute(name);
    for (const [name, value] of Object.entries(mark.attrs)) {
      if (value === null) this.removeAttribute(name);
      else this.setAttribute(name, typeof value === 'number' ? String(px(value)) : value);
    }
    if (mark.text !== undefined && this.textContent !== mark.text) this.textContent = mark.text;
  });
}

/** The size of the drawing. */
export function sizeSvg(
  svg: Selection<SVGSVGElement, unknown, null, undefined>,
  { width, height }: { width: number; height: number },
): void {
  svg
    .attr('viewBox', `0 0 ${px(width)} ${px(height)}`)
    .attr('width', px(width))
    .attr('height', px(height));
}

/** The text that fits, cut with an ellipsis; a letter is taken as `letterPx` wide. */
export function fitText(text: string, widthPx: number, letterPx = 6.1): string {
  const letters = Math.floor(widthPx / letterPx);
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, letters - 1)).trimEnd()}…`;
}
