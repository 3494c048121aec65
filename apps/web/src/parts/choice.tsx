import { useId } from 'react';

/** A choice between a few values: radio buttons that look like one control. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange(value: Value): void;
}) {
  const name = useId();
  return (
    <fieldset className="choice">
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
    </fieldset>
  );
}
