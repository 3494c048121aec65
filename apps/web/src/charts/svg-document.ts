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

export interface ExportOptions {
  title: string;
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
  const page = { width: width + 2 * pad, height: height + headHeight + pad };
  const inner = element.innerHTML;
  const font = (element.getAttribute('font-family') ?? 'sans-serif').replaceAll('"', "'");
  const text = [
    `<svg xmlns="${svgNamespace}" width="${page.width}" height="${page.height}" viewBox="${-pad} ${-headHeight} ${page.width} ${page.height}" font-family="${font}">`,
    `<title>${escapeText(options.title)}</title>`,
    `<rect x="${-pad}" y="${-headHeight}" width="${page.width}" height="${page.height}" fill="var(--surface)"/>`,
    `<text x="0" y="-12" font-size="14" font-weight="600" fill="var(--ink)">${escapeText(options.title)}</text>`,
    inner,
    '</svg>',
  ].join('');
  return resolveTokens(text, (name) => themeValue(options.token(name), options.theme));
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
