import type { Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import type { EventColor } from '../../charts/waits-color.ts';
import { createWaterfall, waterfallHeight } from '../../charts/waits-waterfall.ts';
import type { ActivityGroup, PointActivity } from '../../model/active-sessions.ts';
import { activityChange, changeInWords } from '../../model/activity-change.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatMs } from '../../model/format.ts';
import { formatUsShort } from '../../model/format-change.ts';
import { runProvenance } from '../../model/run-provenance.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

const nameOf = (groups: readonly ActivityGroup[], key: string): string => {
  const group = groups.find(({ points }) => points.some((point) => point.key === key));
  const point = group?.points.find((each) => each.key === key);
  return [group?.title ?? '', point?.words ?? ''].filter((part) => part !== '').join(', ');
};

/** Where the time of a message goes at one point more than at another, as a waterfall. */
export function PointChange(props: {
  run: Run;
  groups: readonly ActivityGroup[];
  colors: ReadonlyMap<string, EventColor>;
  at: PointActivity;
  against: PointActivity | null;
  onAgainst(key: string | undefined): void;
}) {
  const { groups, at, against, onAgainst } = props;
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
        <p className="small muted">
          Choose the point from which the time of a message changes to the selected one.
        </p>
      ) : (
        <Waterfall {...props} against={against} />
      )}
    </section>
  );
}

function Waterfall({
  run,
  groups,
  colors,
  at,
  against,
}: {
  run: Run;
  groups: readonly ActivityGroup[];
  colors: ReadonlyMap<string, EventColor>;
  at: PointActivity;
  against: PointActivity;
}) {
  const change = useMemo(() => activityChange(against, at), [against, at]);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createWaterfall(svg), []);
  const [names, steps] = useMemo(
    () => [
      { from: nameOf(groups, against.key), to: nameOf(groups, at.key) },
      (change?.steps ?? []).map(({ name, fromUs, toUs }) => ({ name, from: fromUs, to: toUs })),
    ],
    [groups, against, at, change],
  );
  const [cursor, setCursor] = useState(0);
  const data = useMemo(
    () => ({
      width: Math.max(width, 220),
      from: { label: names.from, value: change?.fromUs ?? 0 },
      to: { label: names.to, value: change?.toUs ?? 0 },
      steps,
      colors,
      format: (us: number) => formatMs(us / 1_000),
      formatChange: formatUsShort,
    }),
    [width, names, steps, change, colors],
  );
  const { element } = useChart(create, data);
  const words =
    change === null ? 'One of the points delivered no messages.' : `${changeInWords(change)} a message.`;
  const step = change?.steps[cursor];
  return (
    <ChartFrame
      title="Time of a message, from one point to the other"
      unit="session time for each message delivered; by wait event, largest change first"
      fileName={`${run.scenario.id}-change`}
      table={(): DataTable => ({
        columns: ['Event', `${names.from} (µs)`, `${names.to} (µs)`, 'Change (µs)'],
        rows: (change?.steps ?? []).map(({ name, fromUs, toUs }) => [
          name,
          ...[fromUs, toUs, toUs - fromUs].map((value) => Number(value.toPrecision(5))),
        ]),
      })}
      svg={element}
      box={box}
      height={waterfallHeight(steps.length)}
      saved={{ legend: [], provenance: runProvenance(run) }}
      readout={<b>{words}</b>}
      spoken={
        step === undefined
          ? words
          : `${step.name}: ${formatUsShort(step.toUs - step.fromUs)}, from ${formatMs(step.fromUs / 1_000)} to ${formatMs(step.toUs / 1_000)}`
      }
      cursor={{
        now: cursor,
        max: Math.max(1, steps.length - 1),
        onKey(key) {
          const next = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (next === undefined) return false;
          setCursor(Math.max(0, Math.min(steps.length - 1, cursor + next)));
          return true;
        },
      }}
    />
  );
}
