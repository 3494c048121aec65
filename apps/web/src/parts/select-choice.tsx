/** A choice among more values than fit in a row of buttons. */
export function SelectChoice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange(value: Value): void;
}) {
  const { label, value, options, onChange } = props;
  return (
    <label className="chart-choice small">
      <span className="muted">{label}</span>
      <select
        className="input"
        value={value}
        onChange={(event) => onChange(options[event.target.selectedIndex]!.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}
