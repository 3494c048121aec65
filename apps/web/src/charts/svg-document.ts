/**
 * Turns a chart into an SVG file. Design tokens are replaced by their values, so it looks the same outside the page.
 */
import { type SymbolType, symbol } from 'd3-shape';
import { pointArea } from './visual-encoding.ts';

const svgNamespace = 'http://www.w3.org/2000/svg';

/** Replaces every `var(--name)` by the result of `read('--name')`. */
export function resolveTokens(text: string, read: (name: string) => string): string {
  return text.replaceAll(/var\((--[a-z0-9-]+)\)/g, (_, name: string) => read(name).trim());
}

/** The value of a `light-dark(light, dark)` token in the given theme. Other values are returned unchanged. */
export function themeValue(value: string, theme: 'light' | 'dark'): string {
  const values = /^light-dark\(\s*([^,]+?)\s*,\s*([^,]+?)\s*\)$/.exec(value.trim());
  return values === null ? value.trim() : values[theme === 'light' ? 1 : 2]!;
}

/** A piece of a line, `dash` as in SVG and null for a solid one; or the mark of a point, its outline only if it is hollow. */
export type LegendMark =
  | { dash: string | null; isThin?: boolean; isRound?: boolean }
  | { shape: SymbolType; isHollow?: boolean };

/** The meaning of a colour, a line or a mark of the drawing. */
export interface LegendItem {
  label: string;
  color: string;
  /** 0 to 1; default 1. */
  opacity?: number;
  /** Mark in front of the label; default a patch of the colour. */
  mark?: LegendMark;
}

/** The legend of a saved drawing, and where its data come from: machine, scale, repeats, time. */
export interface SavedNotes {
  legend: readonly LegendItem[];
  provenance: string;
}

/** Legend and provenance are written below the drawing. */
export interface ExportOptions extends SavedNotes {
  title: string;
  theme: 'light' | 'dark';
  /** The value of a design token as written in the style sheet. */
  token(name: string): string;
}

/** The drawing as a stand-alone SVG document, with a title and the background colour of the theme. */
export function svgDocument(element: SVGSVGElement, options: ExportOptions): string {
  const width = Number(element.getAttribute('width'));
  const height = Number(element.getAttribute('height'));
  const pad = 12;
  const titleLines = linesOf(options.title, Math.floor(width / titleLetterPx));
  const headHeight = 16 + titleLines.length * titleRow;
  const foot = footOf(options, { width, top: height + pad });
  const page = { width: width + 2 * pad, height: height + headHeight + pad + foot.height };
  const inner = element.innerHTML;
  const font = (element.getAttribute('font-family') ?? 'sans-serif').replaceAll('"', "'");
  const text = [
    `<svg xmlns="${svgNamespace}" width="${page.width}" height="${page.height}" viewBox="${-pad} ${-headHeight} ${page.width} ${page.height}" font-family="${font}">`,
    `<title>${escapeText(options.title)}</title>`,
    `<rect x="${-pad}" y="${-headHeight}" width="${page.width}" height="${page.height}" fill="var(--surface)"/>`,
    ...titleLines.map(
      (line, index) =>
        `<text x="0" y="${(index + 1 - titleLines.length) * titleRow - 12}" font-size="14" font-weight="600" fill="var(--ink)">${escapeText(line)}</text>`,
    ),
    inner,
    ...foot.parts,
    '</svg>',
  ].join('');
  return resolveTokens(text, (name) => themeValue(options.token(name), options.theme));
}

const titleLetterPx = 7.2;
const titleRow = 18;
const letterPx = 6.2;
const footRow = 18;
const patchPx = 11;
const linePx = 24;

/** Legend and provenance, in rows that fit the width. */
function footOf(
  { legend, provenance }: ExportOptions,
  { width, top }: { width: number; top: number },
): { parts: string[]; height: number } {
  const parts: string[] = [];
  let [x, y] = [0, top + 10];
  for (const item of legend) {
    const markWidth = item.mark !== undefined && 'dash' in item.mark ? linePx : patchPx;
    const itemWidth = markWidth + 7 + item.label.length * letterPx + 14;
    if (x > 0 && x + itemWidth > width) [x, y] = [0, y + footRow];
    parts.push(
      markOf(item, Math.round(x), y),
      `<text x="${Math.round(x) + markWidth + 5}" y="${y}" font-size="11" fill="var(--ink)">${escapeText(item.label)}</text>`,
    );
    x += itemWidth;
  }
  if (legend.length > 0) y += footRow;
  for (const line of linesOf(provenance, Math.floor(width / letterPx))) {
    parts.push(`<text x="0" y="${y}" font-size="11" fill="var(--ink-3)">${escapeText(line)}</text>`);
    y += footRow;
  }
  return { parts, height: parts.length === 0 ? 0 : y - top - 4 };
}

/** The mark of a legend item, from x on, on the baseline y of its label. */
function markOf({ color, opacity = 1, mark }: LegendItem, x: number, y: number): string {
  if (mark === undefined)
    return `<rect x="${x}" y="${y - 9}" width="${patchPx}" height="${patchPx}" rx="2" fill="${color}" fill-opacity="${opacity}"/>`;
  if ('shape' in mark) {
    const paint = mark.isHollow === true ? `fill="none" stroke="${color}"` : `fill="${color}"`;
    return `<path d="${symbol(mark.shape, pointArea)()}" transform="translate(${x + patchPx / 2} ${y - 4})" ${paint} fill-opacity="${opacity}"/>`;
  }
  const { dash, isThin = false, isRound = false } = mark;
  const dashes = dash === null ? '' : ` stroke-dasharray="${dash}"`;
  return `<path d="M${x} ${y - 4}h${linePx}" fill="none" stroke="${color}" stroke-opacity="${opacity}" stroke-width="${isThin ? 1 : 2}"${dashes}${isRound ? ' stroke-linecap="round"' : ''}/>`;
}

function linesOf(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < letters)
      lines[lines.length - 1] = `${last} ${word}`;
    else if (word !== '') lines.push(word);
  }
  return lines;
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
