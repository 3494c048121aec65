import type { Run } from '@shardlab/contract';
import type { EventColor } from '../../charts/waits-color.ts';
import type { ActivityGroup, PointActivity } from '../../model/active-sessions.ts';
import { runProvenance } from '../../model/provenance.ts';
import { ActivityWaterfall } from '../../parts/activity-waterfall.tsx';

const nameOf = (groups: readonly ActivityGroup[], key: string): string => {
  const group = groups.find(({ points }) => points.some((point) => point.key === key));
  const point = group?.points.find((each) => each.key === key);
  return [group?.title ?? '', point?.words ?? ''].filter((part) => part !== '').join(', ');
};

/** Choice of a second point, and how the time of a message changes from it to the selected one. */
export function PointChange(props: {
  run: Run;
  groups: readonly ActivityGroup[];
  colors: ReadonlyMap<string, EventColor>;
  at: PointActivity;
  against: PointActivity | null;
  onAgainst(key: string | undefined): void;
}) {
  const { run, groups, colors, at, against, onAgainst } = props;
  const others = groups.flatMap(({ points }) => points).filter(({ key }) => key !== at.key);
  if (others.length === 0) return null;
  return (
    <section className="section" aria-labelledby="change">
      <div className="section-head">
        <h2 id="change">Two points</h2>
        <label className="field explain-against">
          <span>From</span>
          <select
            className="input"
            value={against?.key ?? ''}
            onChange={(event) => onAgainst(event.target.value === '' ? undefined : event.target.value)}
          >
            <option value="">Choose a point…</option>
            {others.map(({ key }) => (
              <option key={key} value={key}>
                {nameOf(groups, key)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {against === null ? (
        <p className="small muted">Choose a point to compare with the selected one.</p>
      ) : (
        <ActivityWaterfall
          from={{ label: nameOf(groups, against.key), at: against }}
          to={{ label: nameOf(groups, at.key), at }}
          colors={colors}
          fileName={`${run.scenario.id}-change`}
          provenance={runProvenance(run)}
        />
      )}
    </section>
  );
}
