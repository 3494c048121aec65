/** A chart as a file: design tokens replaced by their values, so that it looks the same anywhere. */
const svgNamespace = 'http://www.w3.org/2000/svg';

/** Replaces every `var(--name)` by what `read('--name')` gives. */
export function resolveTokens(text: string, read: (name: string) => string): string {
  return text.replaceAll(/var\((--[a-z0-9-]+)\)/g, (_, name: string) => read(name).trim());
}

/** The side of a `light-dark(light, dark)` token that a theme shows; other values as they are. */
export function themeSide(value: string, theme: 'light' | 'dark'): string {
  const sides = /^light-dark\(\s*([^,]+?)\s*,\s*([^,]+?)\s*\)$/.exec(value.trim());
  return sides === null ? value.trim() : sides[theme === 'light' ? 1 : 2]!;
}

export interface ExportOptions {
  title: string;
  theme: 'light' | 'dark';
  /** Value of a design token, as written in the style sheet. */
  token(name: string): string;
}

/** The drawing as a stand-alone SVG document with its title above it, on the theme's ground. */
export function svgDocument(element: SVGSVGElement, options: ExportOptions): string {
  const width = Number(element.getAttribute('width'));
  const height = Number(element.getAttribute('height'));
  const head = 34;
  const pad = 12;
  const full = { width: width + 2 * pad, height: height + head + pad };
  const inner = element.innerHTML;
  const font = (element.getAttribute('font-family') ?? 'sans-serif').replaceAll('"', "'");
  const text = [
    `<svg xmlns="${svgNamespace}" width="${full.width}" height="${full.height}" viewBox="${-pad} ${-head} ${full.width} ${full.height}" font-family="${font}">`,
    `<title>${escapeText(options.title)}</title>`,
    `<rect x="${-pad}" y="${-head}" width="${full.width}" height="${full.height}" fill="var(--surface)"/>`,
    `<text x="0" y="-12" font-size="14" font-weight="600" fill="var(--ink)">${escapeText(options.title)}</text>`,
    inner,
    '</svg>',
  ].join('');
  return resolveTokens(text, (name) => themeSide(options.token(name), options.theme));
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
