/** Rows and columns of a chart's data. The table on the page and the CSV file come from the same rows. */
export interface DataTable {
  columns: string[];
  rows: (string | number | null)[][];
}

/**
 * CSV after RFC 4180 with unformatted numbers. A text that a spreadsheet would run as a formula gets a leading
 * apostrophe.
 */
export function toCsv(table: DataTable): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [table.columns, ...table.rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
