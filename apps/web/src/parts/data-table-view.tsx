import type { DataTable } from '../model/data-table.ts';
import { formatValue } from '../model/format.ts';

/** The data of a chart as a scrollable table. */
export function DataTableView({ table, label }: { table: DataTable; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="chart-table" aria-label={label} tabIndex={0}>
      <table className="table small">
        <thead>
          <tr>
            {table.columns.map((column, index) => (
              <th key={column} scope="col" className={isNumber(table, index) ? 'number' : undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.join('/')}>
              {row.map((cell, index) => (
                <td key={table.columns[index]} className={isNumber(table, index) ? 'number' : undefined}>
                  {typeof cell === 'number' ? formatValue(cell) : (cell ?? '–')}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const isNumber = (table: DataTable, column: number): boolean =>
  table.rows.some((row) => typeof row[column] === 'number');
