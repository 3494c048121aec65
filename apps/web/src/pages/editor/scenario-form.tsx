import type { Fault, ParamValue, ProgramInfo, SystemInfo } from '@shardlab/contract';
import { type JsonObject, valueAt, withParameter, withValue } from '../../model/scenario-draft.ts';
import { faultsUnder, parameterFields, type SchemaNode, systemChoices } from '../../model/scenario-form.ts';
import { readValue, readValues } from '../../model/sweep-values.ts';
import { CheckField } from '../../parts/field.tsx';
import { DraftInput, FieldFaults } from './draft-input.tsx';
import { ParameterRow } from './parameter-row.tsx';

export interface ScenarioFormProps {
  draft: JsonObject;
  /** Undefined while the program is unknown. */
  schema: SchemaNode | undefined;
  program: ProgramInfo | undefined;
  programs: readonly ProgramInfo[];
  systems: readonly SystemInfo[];
  faults: readonly Fault[];
  onChange(draft: JsonObject): void;
}

const phases = [
  ['warmupMs', 'Warm-up, milliseconds'],
  ['measureMs', 'Measured time, milliseconds'],
  ['drainMs', 'Drain at most, milliseconds'],
] as const;

/** The scenario as fields in words. What it does not show (references, faults, claims) stays as it is in the JSON. */
export function ScenarioForm(props: ScenarioFormProps) {
  const { draft, schema, program, programs, systems, faults, onChange } = props;
  const set = (path: readonly string[], value: unknown) => onChange(withValue(draft, path, value));
  const input = (label: string, path: readonly string[], isNumber: boolean) => (
    <DraftInput
      key={path.join('/')}
      label={label}
      value={valueAt(draft, path)}
      faults={faultsUnder(faults, `/${path.join('/')}`)}
      onChange={(text) => set(path, isNumber ? (text === '' ? undefined : readValue(text)) : text)}
    />
  );
  const chosen = Array.isArray(draft.systems) ? draft.systems : [];
  const swept = Object.keys((valueAt(draft, ['sweep']) as JsonObject | undefined) ?? {});
  const titleOf = (name: string) => program?.parameters.find((each) => each.name === name)?.title ?? name;
  const hasQuick = draft.quick !== undefined;
  return (
    <>
      <fieldset className="editor-group">
        <legend>What it is</legend>
        {input('Title', ['title'], false)}
        <DraftInput
          label="Question"
          value={draft.question}
          isLong
          faults={faultsUnder(faults, '/question')}
          onChange={(text) => set(['question'], text)}
        />
        {input('Name in addresses (lower-case words and dashes)', ['id'], false)}
        <label className="field">
          <span>What the sessions do</span>
          <select
            className="input"
            value={String(draft.program ?? '')}
            onChange={(event) => set(['program'], event.target.value)}
          >
            {program === undefined ? <option value={String(draft.program ?? '')}>unknown</option> : null}
            {programs.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <FieldFaults faults={faultsUnder(faults, '/program')} />
      </fieldset>
      {schema === undefined || program === undefined ? null : (
        <>
          <fieldset className="editor-group">
            <legend>Systems that are compared</legend>
            {systemChoices(schema).map(({ value, label }) => (
              <CheckField
                key={value}
                checked={chosen.includes(value)}
                onChange={(isChosen) =>
                  set(['systems'], isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))
                }
              >
                {systems.find(({ id }) => id === value)?.title ?? label}
              </CheckField>
            ))}
            <FieldFaults faults={faultsUnder(faults, '/systems')} />
          </fieldset>
          <fieldset className="editor-group">
            <legend>Parameters</legend>
            {parameterFields(schema, program).map((field) => (
              <ParameterRow
                key={field.name}
                field={field}
                draft={draft}
                faults={faultsUnder(faults, `/parameters/${field.name}`, `/sweep/${field.name}`)}
                onChange={(values) => onChange(withParameter(draft, field.name, values))}
              />
            ))}
            <FieldFaults faults={faults.filter(({ path }) => path === '/sweep' || path === '/parameters')} />
          </fieldset>
        </>
      )}
      <fieldset className="editor-group">
        <legend>Times of each point</legend>
        {phases.map(([name, label]) => input(label, ['phases', name], true))}
        {input('Repeats', ['repeats'], true)}
        <FieldFaults faults={faults.filter(({ path }) => path === '/phases')} />
        <CheckField
          checked={draft.kills !== false}
          onChange={(isOn) => set(['kills'], isOn ? undefined : false)}
        >
          Kill one trial of each system, to show that what was acknowledged survives
        </CheckField>
      </fieldset>
      <fieldset className="editor-group">
        <legend>The quick run</legend>
        <p className="small muted">Replaces the values above when the scenario is run quick.</p>
        {swept.map((name) => (
          <DraftInput
            key={name}
            label={`Some of the values: ${titleOf(name)}`}
            value={valueAt(draft, ['quick', 'sweep', name])}
            placeholder="all of them"
            faults={faultsUnder(faults, `/quick/sweep/${name}`)}
            onChange={(text) => {
              const values: ParamValue[] = readValues(text);
              set(['quick', 'sweep', name], values.length === 0 ? undefined : values);
            }}
          />
        ))}
        {hasQuick && valueAt(draft, ['quick', 'phases']) !== undefined
          ? phases.map(([name, label]) => input(label, ['quick', 'phases', name], true))
          : null}
        {input('Repeats of the quick run', ['quick', 'repeats'], true)}
        <FieldFaults
          faults={faults.filter(({ path }) => path === '/quick/sweep' || path === '/quick/phases')}
        />
      </fieldset>
    </>
  );
}
