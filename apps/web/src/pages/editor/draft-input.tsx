import type { Fault } from '@shardlab/contract';
import { type ChangeEvent, useId, useState } from 'react';

/** The faults of a field, beside it. */
export function FieldFaults({ id, faults }: { id?: string; faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul id={id} className="field-faults small">
      {faults.map(({ path, message }) => (
        <li key={`${path} ${message}`}>{message}</li>
      ))}
    </ul>
  );
}

/** A field of a draft: a text, a number, or a list of them with commas. Keeps what is typed while it has the focus. */
export function DraftInput(props: {
  label: string;
  /** Value in the draft; undefined if it is left out. */
  value: unknown;
  placeholder?: string;
  hint?: string;
  isLabelHidden?: boolean;
  /** Set for a text that is longer than a line. */
  isLong?: boolean;
  faults: readonly Fault[];
  onChange(text: string): void;
}) {
  const { label, value, placeholder, hint, isLabelHidden = false, isLong = false, faults, onChange } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const id = useId();
  const isNumeric = typeof value === 'number';
  const attributes = {
    id: `${id}-input`,
    className: 'input',
    value: typed ?? textOf(value),
    placeholder,
    spellCheck: false,
    autoComplete: 'off',
    'aria-invalid': faults.length > 0,
    'aria-describedby': `${id}-hint ${id}-faults`,
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      setTyped(event.target.value);
      onChange(event.target.value);
    },
    onBlur: () => setTyped(null),
  };
  return (
    <div className="draft-field">
      <div className="field">
        <label htmlFor={`${id}-input`} className={isLabelHidden ? 'visually-hidden' : undefined}>
          {label}
        </label>
        {isLong ? (
          <textarea rows={2} {...attributes} />
        ) : (
          <input inputMode={isNumeric ? 'decimal' : undefined} {...attributes} />
        )}
      </div>
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="small muted">
          {hint}
        </p>
      )}
      <FieldFaults id={`${id}-faults`} faults={faults} />
    </div>
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
