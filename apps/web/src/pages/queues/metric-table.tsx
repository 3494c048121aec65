import type { ReactNode } from 'react';
import { ScrollX } from '../../parts/scroll-x.tsx';

export interface MetricColumn<Row> {
  name: string;
  cell(row: Row): ReactNode;
  isText?: boolean;
}

/** A table of metrics with a heading. The first column names the row. */
export function MetricTable<Row>(props: {
  title: string;
  columns: readonly MetricColumn<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  note?: ReactNode;
}) {
  const { title, columns, rows, keyOf, note } = props;
  const [first, ...rest] = columns;
  if (first === undefined || rows.length === 0) return null;
  return (
    <div className="section">
      <h3>{title}</h3>
      <ScrollX label={title} framed>
        <table className="table table-dense">
          <thead>
            <tr>
              {columns.map(({ name, isText }) => (
                <th key={name} scope="col" className={isText ? undefined : 'number'}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                <th scope="row" className={first.isText ? undefined : 'number'}>
                  {first.cell(row)}
                </th>
                {rest.map(({ name, cell, isText }) => (
                  <td key={name} className={isText ? undefined : 'number'}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      {note === undefined ? null : <p className="small muted">{note}</p>}
    </div>
  );
}
