import { simulatedDash, systemColor } from '../../charts/visual-encoding.ts';
import { LineSample, PointMark, Swatch } from '../../parts/legend-marks.tsx';

/** Dotted lines are simulated, filled marks are measured. */
export function WhatIfLegend({ hasMeasured, instances }: { hasMeasured: boolean; instances: number }) {
  return (
    <ul className="legend" aria-label="Legend">
      {(['sharded', 'unsharded'] as const).map((name) => (
        <li key={name}>
          <Swatch color={systemColor(name)} />
          {name}
        </li>
      ))}
      <li>
        <LineSample dash={simulatedDash} round />
        simulated
      </li>
      {hasMeasured ? (
        <li>
          <PointMark instances={instances} />
          measured
        </li>
      ) : null}
    </ul>
  );
}
