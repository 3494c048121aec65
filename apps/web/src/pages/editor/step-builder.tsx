import { useState } from 'react';
import { type Steps, valuesOfSteps } from '../../model/sweep-values.ts';

/** Makes the values of an axis: from, to, and a step that is added or multiplied. */
export function StepBuilder({ title, onValues }: { title: string; onValues(values: number[]): void }) {
  const [typed, setTyped] = useState({ from: '1', to: '16', by: '2' });
  const [kind, setKind] = useState<Steps['kind']>('times');
  const values = valuesOfSteps({
    from: Number(typed.from || Number.NaN),
    to: Number(typed.to || Number.NaN),
    by: Number(typed.by || Number.NaN),
    kind,
  });
  const part = (name: keyof typeof typed, label: string) => (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        inputMode="decimal"
        value={typed[name]}
        onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
      />
    </label>
  );
  return (
    <details className="step-builder">
      <summary className="small">From, to, step</summary>
      <fieldset className="step-fields" aria-label={`${title}: range`}>
        {part('from', 'From')}
        {part('to', 'To')}
        <label className="field">
          <span>Each is the one before</span>
          <select
            className="input"
            value={kind}
            onChange={(event) => setKind(event.target.value as Steps['kind'])}
          >
            <option value="times">times</option>
            <option value="plus">plus</option>
          </select>
        </label>
        {part('by', kind === 'times' ? 'Factor' : 'Step')}
        <button
          type="button"
          className="button"
          disabled={typeof values === 'string'}
          onClick={() => {
            if (typeof values !== 'string') onValues(values);
          }}
        >
          Use {typeof values === 'string' ? 'these' : values.join(', ')}
        </button>
      </fieldset>
      {typeof values === 'string' ? <p className="field-faults small">{values}</p> : null}
    </details>
  );
}
