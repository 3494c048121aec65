import { useMemo } from 'react';
import type { DataTable } from '../model/data-table.ts';
import { formatValue } from '../model/format.ts';
import { useSortedTable } from './sorted-table.tsx';

/** The data of a chart as a scrollable table. */
export function DataTableView({ table, label }: { table: DataTable; label: string }) {
  const columns = useMemo(
    () =>
      table.columns.map((column, index) => ({
        id: `${index}`,
        label: column,
        isNumber: isNumber(table, index),
        value: (row: DataTable['rows'][number]) => row[index] ?? null,
      })),
    [table],
  );
  const { headers, rows } = useSortedTable(columns, table.rows);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="chart-table" aria-label={label} tabIndex={0}>
      <table className="table small">
        <thead>
          <tr>{headers}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join('/')}>
              {row.map((cell, index) => (
                <td key={table.columns[index]} className={columns[index]!.isNumber ? 'number' : undefined}>
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
