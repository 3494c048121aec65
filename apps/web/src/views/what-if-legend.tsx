import { symbol } from 'd3-shape';
import { implementationColor, ink, instanceShape, simulatedDash } from '../charts/ink.ts';
import { Stroke, Swatch } from './scaling-legend.tsx';

/** Dotted is what the model says, a filled mark what was measured. */
export function WhatIfLegend({ hasMeasured, instances }: { hasMeasured: boolean; instances: number }) {
  return (
    <ul className="legend" aria-label="Legend">
      {(['sharded', 'unsharded'] as const).map((name) => (
        <li key={name}>
          <Swatch color={implementationColor[name]} />
          {name}
        </li>
      ))}
      <li>
        <Stroke dash={simulatedDash} round />
        simulated
      </li>
      {hasMeasured ? (
        <li>
          <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
            <path d={symbol(instanceShape(instances), 58)() ?? ''} fill={ink.muted} />
          </svg>
          measured
        </li>
      ) : null}
    </ul>
  );
}
