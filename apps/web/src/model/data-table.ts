/** Rows and columns of a chart's data. The table on the page and the CSV file come from the same rows. */
import { csvFormatRow } from 'd3-dsv';

export interface DataTable {
  columns: string[];
  rows: (string | number | null)[][];
}

/**
 * CSV after RFC 4180 with unformatted numbers. The last column of each row says where the values come from, in the sentence that
 * stands below a saved picture: so a row tells it wherever it is copied. A text that a spreadsheet would run as a formula gets a
 * leading apostrophe.
 */
export function toCsv({ columns, rows }: DataTable, provenance: string): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return '';
    return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  };
  const lines = [[...columns, 'Provenance'], ...rows.map((row) => [...row, provenance])];
  return lines.map((line) => `${csvFormatRow(line.map(cell))}\r\n`).join('');
}
