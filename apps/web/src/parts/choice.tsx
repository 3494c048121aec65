import { useId } from 'react';
import { FieldFault } from './field.tsx';

/** A choice between a few values: radio buttons that look like one control. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  /** Why the server refused the value, in words. */
  fault?: string | undefined;
  onChange(value: Value): void;
}) {
  const { fault } = props;
  const name = useId();
  const faultId = useId();
  return (
    <fieldset
      className="choice"
      data-faulty={fault === undefined ? undefined : ''}
      aria-describedby={fault === undefined ? undefined : faultId}
    >
      <legend>{props.label}</legend>
      <span className="choice-options">
        {props.options.map(({ value, label }) => (
          <label key={value}>
            <input
              className="visually-hidden"
              type="radio"
              name={name}
              checked={value === props.value}
              onChange={() => props.onChange(value)}
            />
            {label}
          </label>
        ))}
      </span>
      <FieldFault id={faultId} fault={fault} />
    </fieldset>
  );
}
