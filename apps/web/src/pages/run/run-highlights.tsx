import type { Run } from '@shardlab/contract';
import { useMemo } from 'react';
import { runHighlights } from '../../model/run-highlights.ts';

/** The most important results; nothing before the first point. */
export function RunHighlights({ run: { points, claims, recordedOn } }: { run: Run }) {
  const highlights = useMemo(
    () => runHighlights({ points, claims, recordedOn }),
    [points, claims, recordedOn],
  );
  if (highlights.length === 0) return null;
  return (
    <dl className="figures">
      {highlights.map(({ name, value, system }) => (
        <div key={name}>
          <dt className="figure-name">{name}</dt>
          <dd className={system === undefined ? 'figure-value' : `figure-value ink-${system}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
