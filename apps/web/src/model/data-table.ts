/** Rows and columns of a chart's data. The table on the page and the CSV file come from the same rows. */
import { type CsvCell, csvLine } from '@shardlab/contract';

export interface DataTable {
  columns: string[];
  rows: CsvCell[][];
}

/**
 * CSV with unformatted numbers. The last column of each row says where the values come from, in the sentence that stands below a
 * saved picture: so a row tells it wherever it is copied.
 */
export function toCsv({ columns, rows }: DataTable, provenance: string): string {
  return [[...columns, 'Provenance'], ...rows.map((row) => [...row, provenance])].map(csvLine).join('');
}
