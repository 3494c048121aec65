import type { Tick } from '@shardlab/contract';
import { pointKey } from '@shardlab/contract';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { framesOf } from '../../model/filmstrip.ts';
import { heroOf, tracedPoint } from '../../model/hero.ts';
import { type FollowedRun, isFinished } from '../../model/run-state.ts';
import { useKeys } from '../../parts/keys.tsx';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { ReportScope } from '../../parts/report.tsx';
import { TimeCursor } from '../../parts/time-cursor.ts';
import { useFollowedRun } from '../../parts/use-followed-run.ts';
import { useProgram } from '../../parts/use-program.ts';
import { useStudy } from '../../parts/use-study.ts';
import { useTitle } from '../../parts/use-title.ts';
import { Presenter } from './presenter.tsx';
import { RunClaimBoard } from './run-claim-board.tsx';
import { RunClaims } from './run-claims.tsx';
import { RunDetails } from './run-details.tsx';
import { RunHeader } from './run-header.tsx';
import { RunHero } from './run-hero.tsx';
import { RunHighlights } from './run-highlights.tsx';
import { RunLives } from './run-lives.tsx';
import { RunOverTime } from './run-over-time.tsx';
import { RunPipelines } from './run-pipelines.tsx';
import { RunScaling } from './run-scaling.tsx';
import type { RunSearch } from './run-search.ts';
import { RunStage } from './run-stage.tsx';
import { RunStrip } from './run-strip.tsx';
import { RunTopology } from './run-topology.tsx';
import { RunTraces } from './run-traces.tsx';
import { RunWaits } from './run-waits.tsx';
import { useTimeView } from './use-time-view.ts';

/** One run, live or recorded. Both use the event stream, which for a recorded run ends at once. */
export function RunPage() {
  const { runId } = useParams({ from: '/runs/$runId' });
  const { followed, error, restart } = useFollowedRun(runId);
  useTitle(followed?.run.scenario.title ?? 'Run');
  if (followed !== null) return <RunView followed={followed} onResumed={restart} />;
  return (
    <>
      <h1>Run</h1>
      {error === null ? <Loading name="the run" /> : <ErrorNotice error={error} />}
      <p>
        <Link to="/runs">All runs</Link>
      </p>
    </>
  );
}

function RunView({ followed, onResumed }: { followed: FollowedRun; onResumed(): void }) {
  const { run, ticks } = followed;
  const search = useSearch({ from: '/runs/$runId' });
  const [cursor] = useState(() => {
    const created = new TimeCursor();
    created.set(search.at ?? null);
    return created;
  });
  const navigate = useNavigate({ from: '/runs/$runId' });
  const onSearch = useCallback(
    (change: Partial<Record<keyof RunSearch, string | number | true | undefined>>) =>
      void navigate({
        search: (before) => ({ ...before, ...change }) as RunSearch,
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const present = useCallback(() => onSearch({ present: true }), [onSearch]);
  const leave = useCallback(() => onSearch({ present: undefined }), [onSearch]);
  const isPresented = search.present === true;
  useKeys(
    useMemo(
      () => (isPresented ? [] : [{ keys: ['p'], label: 'Present', onKey: present }]),
      [isPresented, present],
    ),
  );
  const frames = useMemo(() => framesOf(ticks), [ticks]);
  const selected = run.points.find((point) => pointKey(point) === search.point) ?? null;
  const isShown = useMemo(
    () => (selected === null ? undefined : (tick: Tick) => pointKey(tick) === pointKey(selected)),
    [selected],
  );
  const view = useTimeView(ticks, isShown);
  const program = useProgram(run.scenario.program);
  const finished = isFinished(run.status);
  const study = useStudy(run.scenario.study);
  if (program === undefined) return <Loading name="the run" />;
  // Programs that report nothing during a trial have no time series, and recorded runs do not keep theirs.
  const hasTime = program.hasTicks && (ticks.length > 0 || !finished);
  // Only their sessions are in front of locks and files that the page can draw.
  const hasInstances = program.parameters.some(({ name }) => name === 'instances');
  const hero = heroOf(run.scenario, study);
  const traced = tracedPoint(hero, run.points, selected);
  const live = finished ? null : (ticks.at(-1) ?? null);
  const main = (
    <div className="board-main">
      <RunHero {...{ hero, traced, run, program, live, ticks, view, cursor, search, onSearch }} />
      <RunClaimBoard
        claims={run.claims}
        selected={search.claim ?? null}
        status={run.status}
        isRecorded={run.recordedOn !== undefined}
        onSelect={(claim) => onSearch({ claim })}
      />
    </div>
  );
  const stage =
    hasTime && hasInstances ? (
      <RunStage run={run} frames={frames} selected={selected} cursor={cursor} />
    ) : (
      <>
        {traced === null ? null : <RunScaling {...{ run, program, live, search, onSearch }} />}
        <RunWaits run={run} program={program} search={search} onSearch={onSearch} />
      </>
    );
  if (isPresented) {
    return (
      <Presenter title={run.scenario.title} frames={frames} cursor={cursor} onLeave={leave}>
        {main}
        {stage}
      </Presenter>
    );
  }
  return (
    <ReportScope>
      <div className="board">
        <RunHeader
          run={run}
          program={program}
          selected={selected}
          cursor={cursor}
          onResumed={onResumed}
          onPresent={present}
        />
        {run.damaged === undefined ? null : (
          <p className="notice" data-tone="warn" role="status">
            Some points of this run cannot be read and are left out: {run.damaged.join('; ')}.
          </p>
        )}
        <h2 className="visually-hidden">Result</h2>
        {main}
        {stage}
      </div>
      <RunLives {...{ run, program, frames, selected, cursor, search, onSearch }} />
      <RunHighlights run={run} />
      <RunClaims claims={run.claims} status={run.status} isRecorded={run.recordedOn !== undefined} />
      <RunPipelines run={run} program={program} selected={selected} />
      {hasTime ? (
        <>
          {hasInstances ? null : <RunStrip {...{ run, ticks, frames, selected, cursor }} />}
          <RunOverTime
            run={run}
            program={program}
            ticks={ticks}
            view={view}
            selected={selected}
            cursor={cursor}
            onSearch={onSearch}
          />
          {hasInstances ? (
            <RunTopology run={run} ticks={ticks} isShown={isShown} trials={view.trials} cursor={cursor} />
          ) : null}
        </>
      ) : (
        <RunTraces run={run} program={program} selected={selected} hasLanes={hero === 'lanes'} />
      )}
      <RunDetails run={run} program={program} search={search} onSearch={onSearch} />
    </ReportScope>
  );
}
