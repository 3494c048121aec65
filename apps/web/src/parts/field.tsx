/** Labelled form inputs. */
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

interface Valued {
  label: string;
  value: string;
  onChange(value: string): void;
  /** Why the server refused the value, in words; shown below the input. */
  fault?: string | undefined;
}

type InputAttributes = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  'id' | 'aria-invalid' | 'aria-describedby'
>;

/** A label, its input, and below what is wrong with the value. */
function Field(props: {
  label: string;
  fault: string | undefined;
  children(attributes: InputAttributes): ReactNode;
}) {
  const { label, fault, children } = props;
  const id = useId();
  const faultId = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': fault !== undefined,
        'aria-describedby': fault === undefined ? undefined : faultId,
      })}
      <FieldFault id={faultId} fault={fault} />
    </div>
  );
}

/**
 * An input for a whole number. `value` is the text as typed, which may be empty or no number at all: a number input of the
 * browser would show such a text and give none.
 */
export function NumberField(props: Valued & { placeholder?: string }) {
  const { label, value, placeholder, fault, onChange } = props;
  return (
    <Field label={label} fault={fault}>
      {(attributes) => (
        <input
          className="input"
          inputMode="numeric"
          autoComplete="off"
          value={value}
          placeholder={placeholder}
          onChange={(event) => onChange(event.target.value)}
          {...attributes}
        />
      )}
    </Field>
  );
}

/** A label around its input, for values that are never wrong by themselves. `className`: of the label. */
function LabelledInput(
  props: Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> & Omit<Valued, 'fault'>,
) {
  const { label, className = '', onChange, ...attributes } = props;
  return (
    <label className={`field ${className}`.trimEnd()}>
      <span>{label}</span>
      <input className="input" {...attributes} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

/** A field that filters a list while the user types. */
export function SearchField(
  props: Omit<Valued, 'fault'> & { placeholder: string; maxLength?: number; className?: string },
) {
  return <LabelledInput {...props} type="search" />;
}

export function TextField(props: Valued & { required?: boolean; maxLength?: number; placeholder?: string }) {
  const { label, value, required, maxLength, placeholder, fault, onChange } = props;
  return (
    <Field label={label} fault={fault}>
      {(attributes) => (
        <input
          className="input"
          value={value}
          required={required}
          maxLength={maxLength}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
          {...attributes}
        />
      )}
    </Field>
  );
}

/** A text of several lines. `questionId`: of an element that asks about the text. */
export function TextAreaField(props: Valued & { rows: number; questionId: string | undefined }) {
  const { label, value, rows, fault, questionId, onChange } = props;
  return (
    <Field label={label} fault={fault}>
      {({ id, 'aria-invalid': isInvalid, 'aria-describedby': faultId }) => (
        <textarea
          id={id}
          className="input"
          rows={rows}
          spellCheck={false}
          value={value}
          aria-invalid={isInvalid === true || questionId !== undefined}
          aria-describedby={faultId ?? questionId}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** The fault of a field's value, in words. */
export function FieldFault({ id, fault }: { id: string; fault: string | undefined }) {
  if (fault === undefined) return null;
  return (
    <p id={id} className="field-fault small" role="alert">
      {fault}
    </p>
  );
}

/** A field for a secret that a password manager may store. */
export function PasswordField(props: Omit<Valued, 'fault'> & { required?: boolean; maxLength?: number }) {
  return <LabelledInput {...props} type="password" autoComplete="current-password" />;
}

export function CheckField(props: {
  checked: boolean;
  fault?: string | undefined;
  onChange(checked: boolean): void;
  children: ReactNode;
}) {
  const { checked, fault, onChange, children } = props;
  const faultId = useId();
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={checked}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : faultId}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>{children}</span>
      </label>
      <FieldFault id={faultId} fault={fault} />
    </>
  );
}
