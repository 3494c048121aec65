import { distributionOf, type Point, type ProgramInfo, pointKey, type Run } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { runQuery } from '../../api/queries.ts';
import { eventColors } from '../../charts/waits-color.ts';
import {
  activityGroups,
  activityOf,
  activityOrder,
  busiestPoint,
  whyInWords,
} from '../../model/active-sessions.ts';
import { toHgrm } from '../../model/hgrm.ts';
import { formatPowerNs } from '../../model/power-buckets.ts';
import { runProvenance } from '../../model/provenance.ts';
import { isFinished } from '../../model/run-state.ts';
import { ActiveSessions } from '../../parts/active-sessions-chart.tsx';
import { SourceBadge } from '../../parts/badges.tsx';
import { PointSelect } from '../../parts/point-select.tsx';
import { Loading, QueryResult } from '../../parts/query-states.tsx';
import { ReportScope, SaveReport } from '../../parts/report.tsx';
import { saveBlob } from '../../parts/save-chart.ts';
import { useProgram } from '../../parts/use-program.ts';
import { useTitle } from '../../parts/use-title.ts';
import { DistributionChart } from './event-durations.tsx';
import type { ExplainSearch } from './explain-search.ts';
import { HoldersOfEvent } from './holders-chart.tsx';
import { PointChange } from './point-change.tsx';
import { PointEvents, WhatHelps } from './point-events.tsx';
import { StudyFigures } from './study-figures.tsx';

/** How often the points of a run under way are read again. */
const pollMs = 3_000;

/** Where the sessions of a run spend their time, and why. */
export function ExplainPage() {
  const { runId } = useParams({ from: '/runs/$runId/explain' });
  const run = useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state }) =>
      state.data === undefined || isFinished(state.data.status) ? false : pollMs,
  });
  useTitle(run.data === undefined ? 'Explain' : `Explain: ${run.data.scenario.title}`);
  return (
    <>
      <header className="page-head">
        <p className="row small">
          <Link to="/runs/$runId" params={{ runId }}>
            ← The run
          </Link>
          <Link to="/compare" search={{ runs: [runId] }}>
            Compare with other runs
          </Link>
          {run.data === undefined ? null : <SourceBadge run={run.data} />}
        </p>
        <h1>Where the time goes</h1>
        <p className="lead">
          {run.data === undefined
            ? 'Where sessions spend their time, point by point.'
            : `${run.data.scenario.title}: ${whatIsShown(run.data.points)}, point by point.`}
        </p>
      </header>
      <QueryResult query={run} name="the run">
        {(data) => <Explained run={data} />}
      </QueryResult>
    </>
  );
}

/** Programs whose points have no waits show what else they recorded. */
const whatIsShown = (points: readonly Point[]): string =>
  points.some((point) => activityOf(point).activities.length > 0)
    ? 'average active sessions by wait event'
    : 'what its sessions did';

function Explained({ run }: { run: Run }) {
  const program = useProgram(run.scenario.program);
  if (program === undefined) return <Loading name="the program" />;
  if (run.points.length === 0) return <p className="empty">Points appear as their trials finish.</p>;
  return (
    <ReportScope>
      <ExplainedRun run={run} program={program} />
    </ReportScope>
  );
}

function ExplainedRun({ run, program }: { run: Run; program: ProgramInfo }) {
  const search = useSearch({ from: '/runs/$runId/explain' });
  const navigate = useNavigate({ from: '/runs/$runId/explain' });
  const onSearch = (change: { [Name in keyof ExplainSearch]: ExplainSearch[Name] | undefined }) =>
    void navigate({
      search: (before) => ({ ...before, ...change }) as ExplainSearch,
      replace: true,
      resetScroll: false,
    });
  const unit = search.unit ?? 'sessions';
  const groups = useMemo(
    () => activityGroups(run.points, { sweep: run.scenario.sweep, program }),
    [run.points, run.scenario, program],
  );
  const order = useMemo(() => activityOrder(groups), [groups]);
  const colors = useMemo(() => eventColors(order), [order]);
  const find = useCallback(
    (key: string | undefined) =>
      groups.flatMap(({ points }) => points).find((each) => each.key === key) ?? null,
    [groups],
  );
  const hasActivity = order.length > 0;
  const at = find(search.point) ?? (hasActivity ? busiestPoint(groups)! : groups.at(-1)!.points.at(-1)!);
  const group = groups.find(({ points }) => points.includes(at))!;
  const against = search.against === at.key ? null : find(search.against);
  const event =
    at.activities.find(({ name }) => name === search.event) ??
    at.activities.find((each) => each.class !== 'cpu') ??
    at.activities[0];
  const point = run.points.find((each) => pointKey(each) === at.key)!;
  return (
    <>
      {hasActivity ? (
        <section className="section" aria-labelledby="sessions">
          <h2 id="sessions" className="visually-hidden">
            Active sessions
          </h2>
          <p className="explain-why">{whyInWords(group.title, at, run.environment?.cores ?? null)}</p>
          <ActiveSessions
            run={run}
            groups={groups}
            order={order}
            colors={colors}
            unit={unit}
            selected={at.key}
            against={against?.key ?? null}
            onEnter="Enter explains it below."
            onUnit={(next) => onSearch({ unit: next === 'us' ? next : undefined })}
            onSelect={(key) => onSearch({ point: key, event: undefined })}
          />
        </section>
      ) : null}
      {hasActivity ? (
        <section className="section" aria-labelledby="point">
          <div className="section-head">
            <h2 id="point">{[group.title, at.words].filter((part) => part !== '').join(', ')}</h2>
            <SavePercentiles run={run} point={point} />
          </div>
          <PointEvents
            at={at}
            colors={colors}
            selected={event?.name ?? null}
            onSelect={(name) => onSearch({ event: name })}
          />
          {event === undefined ? null : (
            <div className="split split-even">
              {event.histogram === null ? (
                <section className="panel explain-panel">
                  <h3>Durations of {event.name}</h3>
                  <p className="small muted">
                    {event.waits === null
                      ? 'This is the session’s own time, not a wait, so there are no single durations.'
                      : 'Only the number and the total time of these waits are recorded.'}
                  </p>
                </section>
              ) : (
                <DistributionChart
                  run={run}
                  title={`Durations of ${event.name}`}
                  unit="share of waits, by powers of two: 1 ms stands for 1,024 µs"
                  axisTitle="duration of a wait"
                  fileName={`${run.scenario.id}-${event.name.replaceAll(/\W+/g, '-')}`}
                  formatEdge={formatWaitEdge}
                  series={[
                    {
                      label: event.name,
                      counts: event.histogram,
                      color: colors.get(event.name)!.fill,
                      drawnAs: 'bars',
                    },
                  ]}
                />
              )}
              <WhatHelps at={at} event={event.name} runId={run.id} cores={run.environment?.cores ?? null} />
            </div>
          )}
          {event === undefined ? null : <HoldersOfEvent run={run} point={point} event={event.name} />}
        </section>
      ) : null}
      {hasActivity ? (
        <PointChange
          run={run}
          groups={groups}
          colors={colors}
          at={at}
          against={against}
          onAgainst={(key) => onSearch({ against: key })}
        />
      ) : (
        // For programs whose points have no waits, and so no bars to select from.
        <PointSelect groups={groups} selected={at.key} onSelect={(key) => onSearch({ point: key })} />
      )}
      <StudyFigures run={run} point={point} colors={colors} />
      <div className="row">
        <SaveReport
          title={`Where the time goes: ${run.scenario.title}`}
          lead={run.scenario.question}
          provenance={runProvenance(run)}
          fileName={`${run.scenario.id}-explained`}
          texts={() => []}
        />
        <span className="small muted">One HTML file with all charts of this page and their data.</span>
      </div>
    </>
  );
}

/** "dequeueCall" as "dequeue call". */
const inWords = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** A file for each distribution of latencies that the point has. */
function SavePercentiles({ run, point }: { run: Run; point: Point }) {
  const names = Object.keys(point.latencies).filter((name) => distributionOf(point, name).count > 0);
  return (
    <div className="row">
      {names.map((name) => (
        <button
          key={name}
          type="button"
          className="button button-quiet"
          onClick={() =>
            saveBlob(
              new Blob([toHgrm(distributionOf(point, name))], { type: 'text/plain' }),
              `${run.scenario.id}-${name}.hgrm`,
            )
          }
        >
          Save percentiles of {inWords(name)}
        </button>
      ))}
    </div>
  );
}

/** Lower edge of a bucket of a wait's durations: bucket 0 is up to 1 µs, bucket i from 2^(i-1) µs. */
const formatWaitEdge = (bucket: number): string => (bucket === 0 ? '0' : formatPowerNs(bucket - 1 + 10));
