import { simulatedDash, systemColor } from '../../charts/visual-encoding.ts';
import { LineSample, PointMark, Swatch } from '../../parts/legend-marks.tsx';

/** Dotted lines are simulated, pale ones the last position, filled marks are measured. */
export function WhatIfLegend(props: { hasMeasured: boolean; hasGhost: boolean; instances: number }) {
  const { hasMeasured, hasGhost, instances } = props;
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
      {hasGhost ? (
        <li className="ghost-sample">
          <LineSample dash={null} />
          last position
        </li>
      ) : null}
      {hasMeasured ? (
        <li>
          <PointMark instances={instances} />
          measured
        </li>
      ) : null}
    </ul>
  );
}
