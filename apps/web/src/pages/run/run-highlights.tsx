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
  const conditions = highlights.filter(({ isCondition }) => isCondition);
  const figures = highlights.filter(({ isCondition }) => !isCondition);
  return (
    <div className="highlights">
      {conditions.map(({ name, value }) => (
        <p key={name} className="small muted">
          {name} {value}
        </p>
      ))}
      <dl className="figures">
        {figures.map(({ name, value, system }) => (
          <div key={name}>
            <dt className="figure-name">{name}</dt>
            <dd className={system === undefined ? 'figure-value' : `figure-value ink-${system}`}>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
