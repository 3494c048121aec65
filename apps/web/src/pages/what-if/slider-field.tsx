/** A slider over given values, which need not be evenly spaced. The label shows the current value. */
export function SliderField(props: {
  label: string;
  steps: readonly number[];
  value: number;
  format(value: number): string;
  onChange(value: number): void;
}) {
  const { label, steps, value, format, onChange } = props;
  return (
    <label className="slider">
      <span className="slider-label">
        {label} <b>{format(value)}</b>
      </span>
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={steps.indexOf(value)}
        aria-valuetext={format(value)}
        onChange={(event) => onChange(steps[Number(event.target.value)]!)}
      />
    </label>
  );
}
