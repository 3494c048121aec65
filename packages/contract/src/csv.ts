/** The only writer of CSV: server and dashboard give the same file for the same cells. */

export type CsvCell = string | number | null;

/**
 * One line of CSV (RFC 4180), with its line break. A text that a spreadsheet would run as a formula gets a leading apostrophe
 * (OWASP, "CSV injection"): names in imported runs and scenarios are anybody's. Numbers stay numbers, negative ones and lists too.
 */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map((cell) => quote(guard(cell))).join(',')}\r\n`;
}

/** Full-width signs too: some spreadsheets take them for the plain ones. */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;
const numbers = /^-?\d+(\.\d+)?(e[-+]?\d+)?( -?\d+(\.\d+)?(e[-+]?\d+)?)*$/i;

function guard(cell: CsvCell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  return formulaStart.test(cell) && !numbers.test(cell) ? `'${cell}` : cell;
}

const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
