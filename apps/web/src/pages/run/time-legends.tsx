import { systemColor, systemsIn, waitColor } from '../../charts/visual-encoding.ts';
import { type TrialSamples, waitClasses } from '../../model/time-series.ts';
import { LineSample, Swatch } from '../../parts/legend-marks.tsx';

type WithTrials = { trials: readonly TrialSamples[] };

export function RateLegend({ trials }: WithTrials) {
  return (
    <ul className="legend" aria-label="Legend">
      {systemsIn(trials).map((name) => (
        <li key={name}>
          <Swatch color={systemColor(name)} />
          {name}
        </li>
      ))}
      <li>
        <LineSample dash={null} />
        dequeue
      </li>
      <li>
        <LineSample dash={null} thin />
        enqueue
      </li>
    </ul>
  );
}

export function LatencyLegend({ trials }: WithTrials) {
  return (
    <ul className="legend" aria-label="Legend">
      {systemsIn(trials).map((name) => (
        <li key={name}>
          <LineSample dash={null} color={systemColor(name)} />
          {name} median
        </li>
      ))}
      {systemsIn(trials).map((name) => (
        <li key={name}>
          <Swatch color={systemColor(name)} opacity={0.24} />
          up to p99
        </li>
      ))}
    </ul>
  );
}

export function CpuLegend({ trials }: WithTrials) {
  return (
    <ul className="legend" aria-label="Legend">
      {systemsIn(trials).map((name) => (
        <li key={name}>
          <Swatch color={systemColor(name)} opacity={0.75} />
          {name}, one shade per instance
        </li>
      ))}
    </ul>
  );
}

export function WaitLegend() {
  return (
    <ul className="legend" aria-label="Legend">
      {['cpu', ...waitClasses].map((name) => (
        <li key={name}>
          <Swatch color={waitColor[name]!} opacity={0.9} />
          {name === 'cpu' ? 'on CPU' : name === 'network' ? 'network (emulated)' : name}
        </li>
      ))}
    </ul>
  );
}
