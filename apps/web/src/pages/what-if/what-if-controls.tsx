import type { Hardware, RunSummary } from '@shardlab/contract';
import { sliderWords } from '../../model/slider-words.ts';
import { machineSettings, sliderSteps, stepsIncluding, type WhatIfSettings } from '../../model/what-if.ts';
import { type Limit, limitNames, limits, removals } from '../../model/what-if-limits.ts';
import { Switch } from '../../parts/switch.tsx';
import { SliderField } from './slider-field.tsx';

export interface WhatIfControlsProps {
  machines: readonly Hardware[];
  machine: Hardware;
  settings: WhatIfSettings;
  /** Finished runs, whose points can be shown. */
  runs: readonly RunSummary[];
  run: string | undefined;
  /** Limits that are removed. */
  without: readonly Limit[];
  onRemove(limit: Limit, isRemoved: boolean): void;
  onMachine(id: string): void;
  onRun(id: string | undefined): void;
  onSettings(change: Partial<WhatIfSettings>): void;
}

/** The choice of machine and run, the sliders, and switches that remove a limit. */
export function WhatIfControls(props: WhatIfControlsProps) {
  const { machines, machine, settings, runs, run, without, onRemove, onMachine, onRun, onSettings } = props;
  const defaults = machineSettings(machine);
  const own = { ...defaults, instances: 1, operations: 1, subscribers: 0, payloadBytes: 64 };
  const slider = (name: keyof WhatIfSettings) => {
    const value = settings[name] ?? own[name];
    return (
      <SliderField
        key={name}
        label={sliderWords[name].label}
        steps={stepsIncluding(sliderSteps[name], value)}
        value={value}
        format={sliderWords[name].format}
        onChange={(next) => onSettings({ [name]: next })}
      />
    );
  };
  return (
    <form
      className="panel what-if-controls"
      onSubmit={(event) => event.preventDefault()}
      aria-label="Settings"
    >
      <label className="field">
        <span>Machine</span>
        <select className="input" value={machine.id} onChange={(event) => onMachine(event.target.value)}>
          {machines.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>Measured points from</span>
        <select
          className="input"
          value={run ?? ''}
          onChange={(event) => onRun(event.target.value === '' ? undefined : event.target.value)}
        >
          <option value="">no run</option>
          {runs.map(({ id, scenarioTitle, scale, endedAtMs }) => (
            <option key={id} value={id}>
              {scenarioTitle}, {scale},{' '}
              {endedAtMs === null ? '' : new Date(endedAtMs).toLocaleString('en-GB')}
            </option>
          ))}
        </select>
      </label>
      {(Object.keys(sliderWords) as (keyof WhatIfSettings)[]).map(slider)}
      <fieldset className="what-if-removals">
        <legend>Remove a bottleneck</legend>
        {limits.map((limit) => (
          <Switch
            key={limit}
            label={`Remove ${limitNames[limit]}`}
            isOn={without.includes(limit)}
            onChange={(isOn) => onRemove(limit, isOn)}
          >
            <span>
              {limitNames[limit]}: <span className="muted">{removals[limit]}</span>
            </span>
          </Switch>
        ))}
      </fieldset>
    </form>
  );
}
