/** A slider over a few values that need not be even steps apart, with the value in words beside its label. */
export function SliderField(props: {
  label: string;
  steps: readonly number[];
  value: number;
  words(value: number): string;
  onChange(value: number): void;
}) {
  const { label, steps, value, words, onChange } = props;
  return (
    <label className="slider">
      <span className="slider-label">
        {label} <b>{words(value)}</b>
      </span>
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={steps.indexOf(value)}
        aria-valuetext={words(value)}
        onChange={(event) => onChange(steps[Number(event.target.value)]!)}
      />
    </label>
  );
}
