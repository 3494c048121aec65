/** Labelled form inputs. */
import { type ReactNode, useId } from 'react';

interface Valued {
  label: string;
  value: string;
  onChange(value: string): void;
  /** Why the server refused the value, in words; shown below the input. */
  fault?: string | undefined;
}

/** An input for a whole number. `value` is the text as typed, which may be empty. */
export function NumberField(props: Valued & { min: number; max: number; placeholder?: string }) {
  const { label, value, min, max, placeholder, fault, onChange } = props;
  const faultId = useId();
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        type="number"
        step={1}
        min={min}
        max={max}
        value={value}
        placeholder={placeholder}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : faultId}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldFault id={faultId} fault={fault} />
    </label>
  );
}

export function TextField(props: Valued & { required?: boolean; maxLength?: number; placeholder?: string }) {
  const { label, value, required, maxLength, placeholder, fault, onChange } = props;
  const faultId = useId();
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        value={value}
        required={required}
        maxLength={maxLength}
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : faultId}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldFault id={faultId} fault={fault} />
    </label>
  );
}

function FieldFault({ id, fault }: { id: string; fault: string | undefined }) {
  if (fault === undefined) return null;
  return (
    <span id={id} className="field-fault small" role="alert">
      {fault}
    </span>
  );
}

/** For a secret that a password manager may keep. */
export function PasswordField(props: Valued & { required?: boolean; maxLength?: number }) {
  const { label, value, required, maxLength, onChange } = props;
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        type="password"
        value={value}
        required={required}
        maxLength={maxLength}
        autoComplete="current-password"
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

export function SelectField(props: Valued & { options: readonly string[] }) {
  return (
    <label className="field">
      <span>{props.label}</span>
      <select className="input" value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {props.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

export function CheckField(props: {
  checked: boolean;
  onChange(checked: boolean): void;
  children: ReactNode;
}) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <span>{props.children}</span>
    </label>
  );
}
