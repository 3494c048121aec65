import type { ClaimResult } from '@shardlab/contract';
import { claimFigure } from '../model/verdicts.ts';

/** The value on which a claim was judged, with its unit and interval. */
export function ClaimFigure({ claim }: { claim: Pick<ClaimResult, 'value' | 'unit' | 'interval'> }) {
  const figure = claimFigure(claim);
  if (figure === null) return null;
  return (
    <p>
      <span className="claim-figure">{figure.value}</span>
      {figure.unit}
      {figure.range}
    </p>
  );
}
