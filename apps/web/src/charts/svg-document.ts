/**
 * Turns a chart into an SVG file. Design tokens are replaced by their values, so it looks the same outside the page.
 */
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

/** What a colour of the drawing stands for. */
export interface LegendItem {
  label: string;
  color: string;
  /** 0 to 1; default 1. */
  opacity?: number;
}

export interface ExportOptions {
  title: string;
  /** Written below the drawing; default none. */
  legend?: readonly LegendItem[];
  /** Where the data come from: machine, scale, repeats, time. Written below the legend. */
  provenance?: string;
  theme: 'light' | 'dark';
  /** The value of a design token as written in the style sheet. */
  token(name: string): string;
}

/** The drawing as a stand-alone SVG document, with a title and the background colour of the theme. */
export function svgDocument(element: SVGSVGElement, options: ExportOptions): string {
  const width = Number(element.getAttribute('width'));
  const height = Number(element.getAttribute('height'));
  const headHeight = 34;
  const pad = 12;
  const foot = footOf(options, { width, top: height + pad });
  const page = { width: width + 2 * pad, height: height + headHeight + pad + foot.height };
  const inner = element.innerHTML;
  const font = (element.getAttribute('font-family') ?? 'sans-serif').replaceAll('"', "'");
  const text = [
    `<svg xmlns="${svgNamespace}" width="${page.width}" height="${page.height}" viewBox="${-pad} ${-headHeight} ${page.width} ${page.height}" font-family="${font}">`,
    `<title>${escapeText(options.title)}</title>`,
    `<rect x="${-pad}" y="${-headHeight}" width="${page.width}" height="${page.height}" fill="var(--surface)"/>`,
    `<text x="0" y="-12" font-size="14" font-weight="600" fill="var(--ink)">${escapeText(options.title)}</text>`,
    inner,
    ...foot.parts,
    '</svg>',
  ].join('');
  return resolveTokens(text, (name) => themeValue(options.token(name), options.theme));
}

const letterPx = 6.2;
const footRow = 18;

/** Legend and provenance, in rows that fit the width. */
function footOf(
  { legend = [], provenance = '' }: ExportOptions,
  { width, top }: { width: number; top: number },
): { parts: string[]; height: number } {
  const parts: string[] = [];
  let [x, y] = [0, top + 10];
  for (const { label, color, opacity = 1 } of legend) {
    const itemWidth = 18 + label.length * letterPx + 14;
    if (x > 0 && x + itemWidth > width) [x, y] = [0, y + footRow];
    parts.push(
      `<rect x="${Math.round(x)}" y="${y - 9}" width="11" height="11" rx="2" fill="${color}" fill-opacity="${opacity}"/>`,
      `<text x="${Math.round(x) + 16}" y="${y}" font-size="11" fill="var(--ink)">${escapeText(label)}</text>`,
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
