import { useState } from 'react';
import type { SchemaRow } from '../../model/api-reference.ts';

type Row = SchemaRow & { place?: string };

/** Fields with their types; fields of fields are behind a button. */
export function SchemaRows({ rows, label }: { rows: readonly Row[]; label: string }) {
  return (
    <ul className="api-fields" aria-label={label}>
      {rows.map((row) => (
        <Field key={`${row.place ?? ''}${row.name}`} row={row} />
      ))}
    </ul>
  );
}

function Field({ row }: { row: Row }) {
  const { name, required, type, description, rows, place } = row;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <p className="api-field">
        <code>{name}</code> <span className="muted small">{type}</span>
        {place === undefined ? null : <span className="tag">{place}</span>}
        {required ? <span className="tag">required</span> : null}
        {rows.length === 0 ? null : (
          <button
            type="button"
            className="link small"
            aria-expanded={isOpen}
            aria-label={`Fields of ${name}`}
            onClick={() => setIsOpen(!isOpen)}
          >
            {isOpen ? 'Hide fields' : `${rows.length} fields`}
          </button>
        )}
      </p>
      {description === '' ? null : <p className="small api-about">{description}</p>}
      {isOpen ? <SchemaRows rows={rows} label={`Fields of ${name}`} /> : null}
    </li>
  );
}
