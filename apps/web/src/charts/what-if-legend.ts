import type { LegendItem } from './svg-document.ts';
import { ghostOpacity, instanceShape, simulatedDash, systemColor, themeColor } from './visual-encoding.ts';

/** Dotted lines are simulated, pale ones the last position, filled marks are measured. */
export function whatIfLegend(shown: {
  hasMeasured: boolean;
  hasGhost: boolean;
  instances: number;
}): LegendItem[] {
  const { hasMeasured, hasGhost, instances } = shown;
  const color = themeColor.muted;
  return [
    ...['sharded', 'unsharded'].map((name) => ({ label: name, color: systemColor(name) })),
    { label: 'simulated', color, mark: { dash: simulatedDash, isRound: true } },
    ...(hasGhost ? [{ label: 'last position', color, opacity: ghostOpacity, mark: { dash: null } }] : []),
    ...(hasMeasured ? [{ label: 'measured', color, mark: { shape: instanceShape(instances) } }] : []),
  ];
}
