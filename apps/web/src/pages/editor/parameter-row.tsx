import type { Fault, ParamValue } from '@shardlab/contract';
import { type JsonObject, valueAt } from '../../model/scenario-draft.ts';
import { type FormField, parameterMode } from '../../model/scenario-form.ts';
import { readValue, readValues } from '../../model/sweep-values.ts';
import { CheckField } from '../../parts/field.tsx';
import { DraftInput, FieldFaults } from './draft-input.tsx';
import { StepBuilder } from './step-builder.tsx';

export interface ParameterRowProps {
  field: FormField;
  draft: JsonObject;
  faults: readonly Fault[];
  /** One value, several, or undefined to leave it to the program. */
  onChange(values: ParamValue | readonly ParamValue[] | undefined): void;
}

const modes = {
  default: 'not given',
  single: 'one value',
  sweep: 'several values',
} as const;
type Mode = keyof typeof modes;

/** A parameter: one value for all points, or an axis of the sweep. */
export function ParameterRow({ field, draft, faults, onChange }: ParameterRowProps) {
  const { name, title, about, choices, bounds } = field;
  const mode = parameterMode(draft, name);
  const single = valueAt(draft, ['parameters', name]) as ParamValue | undefined;
  const several = valueAt(draft, ['sweep', name]);
  const values = Array.isArray(several) ? (several as ParamValue[]) : [];
  const start = single ?? values[0] ?? choices?.[0]?.value ?? Number(bounds.split(' ')[0] || 1);
  const change = (next: Mode) =>
    onChange(
      next === 'default' ? undefined : next === 'single' ? start : values.length > 0 ? values : [start],
    );
  return (
    <div className="parameter" data-parameter={name}>
      <div className="parameter-head">
        <span id={`parameter-${name}`}>{title}</span>
        <select
          className="input"
          aria-label={`${title}: how it is given`}
          value={mode}
          onChange={(event) => change(event.target.value as Mode)}
        >
          {Object.entries(modes).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {mode === 'default' ? (
        <FieldFaults faults={faults} />
      ) : choices === null ? (
        <DraftInput
          label={mode === 'sweep' ? `${title}: values` : title}
          isLabelHidden
          value={mode === 'sweep' ? several : single}
          hint={mode === 'sweep' ? `Values with commas between them, each ${bounds}` : bounds}
          faults={faults}
          onChange={(text) => onChange(mode === 'sweep' ? readValues(text) : readValue(text))}
        />
      ) : mode === 'single' ? (
        <>
          <select
            className="input"
            aria-label={title}
            value={String(single)}
            onChange={(event) => onChange(event.target.value)}
          >
            {choices.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <FieldFaults faults={faults} />
        </>
      ) : (
        <fieldset className="parameter-choices" aria-labelledby={`parameter-${name}`}>
          {choices.map(({ value, label }) => (
            <CheckField
              key={value}
              checked={values.includes(value)}
              onChange={(isOn) =>
                onChange(isOn ? [...values, value] : values.filter((each) => each !== value))
              }
            >
              {label}
            </CheckField>
          ))}
          <FieldFaults faults={faults} />
        </fieldset>
      )}
      {mode === 'sweep' && choices === null ? <StepBuilder title={title} onValues={onChange} /> : null}
      <p className="small muted">{about}</p>
    </div>
  );
}
