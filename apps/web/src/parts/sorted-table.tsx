/** Tables whose rows are ordered by the column that is chosen: by its button, to and fro and back to the order they came in. */
import {
  type ColumnDef,
  createSortedRowModel,
  type Header,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import { compareCells } from '../model/compare-cells.ts';
import { SortHead } from './sort-head.tsx';

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
type Features = typeof features;

export interface SortedColumn<Row> {
  id: string;
  label: string;
  isNumber: boolean;
  /** Sort value of a row; null comes last in both directions. Left out: the column cannot be sorted. */
  value?(row: Row): string | number | null;
}

/** `columns` and `rows` must be memoized. */
export function useSortedTable<Row extends object>(
  columns: readonly SortedColumn<Row>[],
  rows: readonly Row[],
) {
  const definitions = useMemo(
    () =>
      columns.map(
        ({ id, label, isNumber, value }): ColumnDef<Features, Row> => ({
          id,
          header: label,
          accessorFn: (row: Row) => value?.(row) ?? undefined,
          enableSorting: value !== undefined,
          sortDescFirst: isNumber,
          sortUndefined: 'last',
          sortFn: (a, b, column) => compareCells(a.getValue(column), b.getValue(column)),
        }),
      ),
    [columns],
  );
  const table = useTable({ features, columns: definitions, data: rows });
  const headers = table.getHeaderGroups()[0]?.headers ?? [];
  return {
    headers: columns.map((column, index) => (
      <SortHeader<Row> key={column.id} column={column} header={headers[index]!} />
    )),
    rows: table.getRowModel().rows.map(({ original }) => original),
    isSorted: table.state.sorting.length > 0,
  };
}

function SortHeader<Row extends object>(props: {
  column: SortedColumn<Row>;
  header: Header<Features, Row, unknown>;
}) {
  const { label, isNumber, value } = props.column;
  const { column } = props.header;
  if (value === undefined) {
    return (
      <th scope="col" className={isNumber ? 'number' : undefined}>
        {label}
      </th>
    );
  }
  const onSort = column.getToggleSortingHandler() ?? (() => {});
  return <SortHead label={label} isNumber={isNumber} sorted={column.getIsSorted()} onSort={onSort} />;
}
