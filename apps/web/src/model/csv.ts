/** Tables as text. A chart's data table and its CSV file are the same rows. */
export interface DataTable {
  columns: string[];
  rows: (string | number | null)[][];
}

/** RFC 4180, with plain numbers: what a spreadsheet reads. A cell that could start a formula is kept as text. */
export function toCsv(table: DataTable): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [table.columns, ...table.rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
