import type { Hardware, RunSummary } from '@shardlab/contract';
import { formatCount, formatMs } from '../../model/format.ts';
import { machineSettings, sliderSteps, stepsIncluding, type WhatIfSettings } from '../../model/what-if.ts';
import { SliderField } from './slider-field.tsx';

export interface WhatIfControlsProps {
  machines: readonly Hardware[];
  machine: Hardware;
  settings: WhatIfSettings;
  /** Finished runs, whose points can be shown. */
  runs: readonly RunSummary[];
  run: string | undefined;
  onMachine(id: string): void;
  onRun(id: string | undefined): void;
  onSettings(change: Partial<WhatIfSettings>): void;
}

const micros = (us: number) => (us === 0 ? 'none' : formatMs(us / 1000));

/** The choice of machine and run, and the sliders. */
export function WhatIfControls(props: WhatIfControlsProps) {
  const { machines, machine, settings, runs, run, onMachine, onRun, onSettings } = props;
  const defaults = machineSettings(machine);
  const slider = (
    name: keyof WhatIfSettings,
    label: string,
    value: number,
    format: (value: number) => string,
  ) => (
    <SliderField
      label={label}
      steps={stepsIncluding(sliderSteps[name], value)}
      value={value}
      format={format}
      onChange={(next) => onSettings({ [name]: next })}
    />
  );
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
      {slider('instances', 'Instances', settings.instances, formatCount)}
      {slider('operations', 'Operations per transaction', settings.operations, formatCount)}
      {slider('subscribers', 'Subscribers', settings.subscribers, (value) =>
        value === 0 ? 'none (queue)' : formatCount(value),
      )}
      {slider('payloadBytes', 'Payload', settings.payloadBytes, (value) => `${formatCount(value)} bytes`)}
      {slider('roundTripMs', 'Client round trip', settings.roundTripMs ?? defaults.roundTripMs, (value) =>
        value === 0 ? 'embedded' : formatMs(value),
      )}
      {slider('cores', 'Cores per node', settings.cores ?? defaults.cores, formatCount)}
      {slider('syncUs', 'Disk sync time', settings.syncUs ?? defaults.syncUs, micros)}
    </form>
  );
}
