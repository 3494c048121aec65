import type { DocumentTable } from '@shardlab/contract';
import { formatValue } from '../../model/format.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

/** The tables of a document as it prints them, closed at first. */
export function DocumentTables({ tables }: { tables: readonly DocumentTable[] }) {
  if (tables.length === 0) return null;
  return (
    <section className="section" aria-labelledby="document-tables">
      <h2 id="document-tables">What it prints</h2>
      {tables.map((table) => (
        <details key={table.id}>
          <summary>
            {table.title} <span className="small muted">({table.source})</span>
          </summary>
          <ScrollX label={table.title} framed>
            <Printed table={table} />
          </ScrollX>
        </details>
      ))}
    </section>
  );
}

function Printed({ table: { columns, rows } }: { table: DocumentTable }) {
  const isNumber = columns.map((_, index) => rows.every((row) => typeof row[index] !== 'string'));
  return (
    <table className="table">
      <thead>
        <tr>
          {columns.map(({ name, title }, index) => (
            <th key={name} scope="col" className={isNumber[index] ? 'number' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.join(' ')}>
            {columns.map(({ name }, index) => (
              <td key={name} className={isNumber[index] ? 'number' : 'wrap'}>
                {cell(row[index] ?? null)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const cell = (value: DocumentTable['rows'][number][number]): string =>
  value === null ? '–' : typeof value === 'number' ? formatValue(value) : String(value);
