import type { Hardware, RunSummary } from '@shardlab/contract';
import { formatCount, formatMs, plural } from '../model/format.ts';
import { ownSettings, sliderSteps, stepsWith, type WhatIf } from '../model/what-if.ts';
import { SliderField } from './slider-field.tsx';

export interface WhatIfControlsProps {
  machines: readonly Hardware[];
  machine: Hardware;
  settings: WhatIf;
  /** Finished runs whose points may lie on top. */
  runs: readonly RunSummary[];
  run: string | undefined;
  onMachine(id: string): void;
  onRun(id: string | undefined): void;
  onSettings(change: Partial<WhatIf>): void;
}

const micros = (us: number) => (us === 0 ? 'none' : formatMs(us / 1000));

/** The machine, the run on top of it, and the sliders. */
export function WhatIfControls(props: WhatIfControlsProps) {
  const { machines, machine, settings, runs, run, onMachine, onRun, onSettings } = props;
  const own = ownSettings(machine);
  const slider = (name: keyof WhatIf, label: string, value: number, words: (value: number) => string) => (
    <SliderField
      label={label}
      steps={stepsWith(sliderSteps[name], value)}
      value={value}
      words={words}
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
        <span>Measured points of</span>
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
      {slider('operations', 'Operations a transaction', settings.operations, formatCount)}
      {slider('subscribers', 'Subscribers', settings.subscribers, (value) =>
        value === 0 ? 'a queue' : plural(value, 'subscriber'),
      )}
      {slider('payloadBytes', 'Payload', settings.payloadBytes, (value) => `${formatCount(value)} bytes`)}
      {slider('roundTripMs', 'Client’s round trip', settings.roundTripMs ?? own.roundTripMs, (value) =>
        value === 0 ? 'embedded' : formatMs(value),
      )}
      {slider('cores', 'Cores of each node', settings.cores ?? own.cores, formatCount)}
      {slider('syncUs', 'Sync of the disk', settings.syncUs ?? own.syncUs, micros)}
    </form>
  );
}
