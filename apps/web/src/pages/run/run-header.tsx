import { type Point, type ProgramInfo, pointKey, type Run, type RunLabels } from '@shardlab/contract';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { cancelRun, exportHref, runsOfScenarioQuery } from '../../api/queries.ts';
import { trustOf } from '../../model/evidence.ts';
import { formatCount, formatDuration, plural } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { runReport } from '../../model/run-report.ts';
import { isFinished } from '../../model/run-state.ts';
import { SourceBadge, StatusBadge } from '../../parts/badges.tsx';
import { EditRunDialog } from '../../parts/edit-run-dialog.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { SaveReport } from '../../parts/report.tsx';
import { RunButton } from '../../parts/run-button.tsx';
import type { TimeCursor } from '../../parts/time-cursor.ts';
import { useLostSince } from '../../parts/use-lost-since.ts';
import { CopyLink } from './copy-link.tsx';
import { ResumeRun } from './resume-run.tsx';

/** The title of a run, its progress or outcome, and what can be done with it. */
export function RunHeader(props: {
  run: Run;
  program: ProgramInfo;
  /** The point that was chosen in a chart; null for none. */
  selected: Point | null;
  /** The place on the strip of trials. */
  cursor: TimeCursor;
  /** Called when an interrupted run was resumed. */
  onResumed(): void;
  /** Called to fill the screen for an audience. */
  onPresent(): void;
}) {
  const { run, program, selected, cursor, onResumed, onPresent } = props;
  const finished = isFinished(run.status);
  // The stream of a run does not include its labels, so those saved here are kept here.
  const [saved, setSaved] = useState<RunLabels | null>(null);
  const labels = saved ?? run.labels;
  const navigate = useNavigate();
  const { title } = run.scenario;
  return (
    <header className="run-head">
      <div className="run-title">
        <div className="run-names">
          <h1>{labels?.name || title}</h1>
          {labels?.name ? <p className="small">{title}</p> : null}
          {labels?.note ? <p className="small muted">{labels.note}</p> : null}
          <p className="row small">
            <SourceBadge run={run} />
            {labels?.baseline ? <span className="tag">baseline</span> : null}
            <span role="status" aria-label="Run status">
              <StatusBadge status={run.status} errorCode={run.error?.code} />
            </span>
            <span className="muted">{run.scale}</span>
            <Link to="/scenarios/$scenarioId" params={{ scenarioId: run.scenario.id }} className="muted">
              {run.scenario.id}
            </Link>
            {finished ? (
              <>
                <a className="muted" href={exportHref(run.id, 'json')}>
                  Export JSON
                </a>
                <a className="muted" href={exportHref(run.id, 'csv')}>
                  Export CSV
                </a>
                <SaveReport
                  title={labels?.name || title}
                  lead={run.scenario.question}
                  provenance={runProvenance(run)}
                  fileName={`${run.scenario.id}-report`}
                  texts={() => runReport(run, program)}
                  isLink
                />
                <Outcome run={run} />
              </>
            ) : null}
          </p>
        </div>
        <div className="row run-actions">
          {finished ? (
            <RunButton scenario={run.scenario} scale={run.scale} kind="button-ink">
              Run again
            </RunButton>
          ) : null}
          <button type="button" className="button" onClick={onPresent}>
            Present
          </button>
          <Link className="button" to="/editor" search={{ run: run.id }}>
            Edit and run
          </Link>
          <CopyLink cursor={cursor} />
          {finished ? (
            <>
              <Link
                className="button"
                to="/runs/$runId/explain"
                params={{ runId: run.id }}
                search={selected === null ? {} : { point: pointKey(selected) }}
              >
                Explain
              </Link>
              <CompareLink run={run} />
              {run.recordedOn === undefined ? (
                <EditRunDialog
                  label="Name and note"
                  run={{ id: run.id, title, labels }}
                  onSaved={setSaved}
                  onDeleted={() => void navigate({ to: '/runs' })}
                />
              ) : null}
            </>
          ) : (
            <CancelRun id={run.id} />
          )}
        </div>
      </div>
      <Interruption run={run} onResumed={onResumed} />
      <Noise run={run} />
      {finished ? null : <RunProgress run={run} />}
    </header>
  );
}

/** Links to the comparison with the baseline of its scenario, if there is one. */
function CompareLink({ run }: { run: Run }) {
  const { data } = useQuery(runsOfScenarioQuery(run.scenario.id));
  const baseline = data?.runs.find(({ id, labels }) => labels?.baseline === true && id !== run.id);
  return (
    <Link
      className="button"
      to="/compare"
      search={{ runs: [...(baseline === undefined ? [] : [baseline.id]), run.id] }}
    >
      Compare
    </Link>
  );
}

function Interruption({ run, onResumed }: { run: Run; onResumed(): void }) {
  const { id, error, progress, imported = false } = run;
  if (error === null) return null;
  if (error.code !== 'RUN_INTERRUPTED')
    return (
      <div className="notice" data-tone="bad" role="alert">
        <p>The run failed: {error.message}. The points finished before the failure are kept.</p>
        <p className="small muted">
          {error.code}
          {imported ? '' : ". The server's log has the full paths."}
        </p>
      </div>
    );
  return (
    <div className="notice" role="alert">
      <p>
        {`${error.message}. It had finished ${formatCount(progress.done)} of ${plural(progress.total, 'trial')}.`}
        {imported ? '' : ' Resumed, it measures the others.'}
      </p>
      {imported ? null : (
        <div className="row">
          <ResumeRun id={id} onResumed={onResumed} />
        </div>
      )}
    </div>
  );
}

/** A banner on a run whose figures other work may explain. */
function Noise({ run }: { run: Run }) {
  const repeats = Math.min(...run.points.map((point) => point.repeats.length));
  const trust = trustOf(run, Number.isFinite(repeats) ? repeats : 0);
  if (trust.doubt === null || run.points.length === 0) return null;
  return (
    <p className="notice trust small" data-noisy="">
      {trust.doubt}: {trust.load}; {trust.noise}. Another run may find something else.
    </p>
  );
}

function CancelRun({ id }: { id: string }) {
  const cancel = useMutation({ mutationFn: () => cancelRun(id) });
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={cancel.isPending || cancel.isSuccess}
        onClick={() => cancel.mutate()}
      >
        {cancel.isIdle || cancel.isError ? 'Cancel run' : 'Cancelling…'}
      </button>
      {cancel.error === null ? null : <ErrorNotice error={cancel.error} />}
    </>
  );
}

function RunProgress({ run }: { run: Run }) {
  const { done, total, etaMs, current } = run.progress;
  const isStale = useLostSince() !== null;
  return (
    <div className="progress">
      <progress className="progress-bar" aria-label="Trials finished" value={done} max={Math.max(1, total)} />
      <p className="small">
        {run.status === 'queued' ? (
          'Waiting for the previous run to finish.'
        ) : (
          <>
            <strong>
              {formatCount(done)} of {plural(total, 'trial')}
            </strong>
            {etaMs === null || isStale ? '' : `, about ${formatDuration(etaMs)} left`}
            {current === undefined ? '' : <span className="muted">: {current}</span>}
          </>
        )}
      </p>
    </div>
  );
}

function Outcome({ run }: { run: Run }) {
  const { status, progress, startedAtMs, endedAtMs, error } = run;
  const duration =
    startedAtMs === null || endedAtMs === null ? '' : ` in ${formatDuration(endedAtMs - startedAtMs)}`;
  const startTime = new Date(startedAtMs ?? run.createdAtMs).toLocaleString('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  return (
    <span>
      {formatCount(progress.done)} of {plural(progress.total, 'trial')}
      {duration}
      {progress.measuredAgain === undefined
        ? null
        : `, ${formatCount(progress.measuredAgain)} of them measured again`}
      {status === 'cancelled' && error === null
        ? '; the points finished before it was cancelled are kept'
        : ''}
      .{' '}
      <span className="muted">
        {run.recordedOn === undefined ? '' : `Recorded on ${run.recordedOn}; it comes with the lab. `}
        Started {startTime}
        {run.watched ? ', with a dashboard open during the measurement' : ''}.
      </span>
    </span>
  );
}
