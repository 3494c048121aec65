/** Saves a chart or its table as a file on the computer of the user. */
import { type SavedNotes, svgDocument } from '../charts/svg-document.ts';
import { type DataTable, toCsv } from '../model/data-table.ts';

/** Image pixels per CSS pixel: sharp on dense screens and in print. */
const imageScale = 2;

export interface SaveOptions extends SavedNotes {
  /** Without extension. */
  fileName: string;
  title: string;
}

export function saveSvg(element: SVGSVGElement, options: SaveOptions): void {
  saveBlob(new Blob([svgTextOf(element, options)], { type: 'image/svg+xml' }), `${options.fileName}.svg`);
}

export async function savePng(element: SVGSVGElement, options: SaveOptions): Promise<void> {
  const url = URL.createObjectURL(new Blob([svgTextOf(element, options)], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.naturalWidth * imageScale;
    canvas.height = image.naturalHeight * imageScale;
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
    if (blob !== null) saveBlob(blob, `${options.fileName}.png`);
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function saveCsv(table: DataTable, options: Pick<SaveOptions, 'fileName' | 'provenance'>): void {
  saveBlob(new Blob([toCsv(table, options.provenance)], { type: 'text/csv' }), `${options.fileName}.csv`);
}

/** The drawing as a file, in the theme of the page. */
export function svgTextOf(element: SVGSVGElement, options: Omit<SaveOptions, 'fileName'>): string {
  const style = getComputedStyle(document.documentElement);
  const { theme } = document.documentElement.dataset;
  const dark = theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  return svgDocument(element, {
    ...options,
    theme: dark ? 'dark' : 'light',
    token: (name) => style.getPropertyValue(name),
  });
}

export function saveBlob(blob: Blob, fileName: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  // The browser keeps its own reference to the blob once the download has started.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
