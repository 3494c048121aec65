import type { ReactNode } from 'react';

/** An on/off switch that takes effect at once. `label` names what is switched; the children show its state. */
export function Switch(props: {
  label: string;
  isOn: boolean;
  disabled?: boolean;
  onChange(isOn: boolean): void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      aria-checked={props.isOn}
      aria-label={props.label}
      disabled={props.disabled}
      onClick={() => props.onChange(!props.isOn)}
    >
      <span className="switch-track" aria-hidden="true" />
      {props.children}
    </button>
  );
}
