import { type Point, pointKey, type Run } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { cancelRun, exportHref } from '../../api/queries.ts';
import { trustOf } from '../../model/evidence.ts';
import {
  formatCount,
  formatDuration,
  formatRate,
  formatTimeOfDay,
  formatValue,
  plural,
} from '../../model/format.ts';
import { bestPoints, dequeuesOf, integrityFaults } from '../../model/run-highlights.ts';
import { isFinished } from '../../model/run-state.ts';
import { SourceBadge, StatusBadge } from '../../parts/badges.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { RunButton } from '../../parts/run-button.tsx';
import { ResumeRun } from './resume-run.tsx';

/** The title of a run, its progress or outcome, and what can be done with it. */
export function RunHeader(props: {
  run: Run;
  /** The point that was chosen in a chart; null for none. */
  selected: Point | null;
  /** Since when the server does not answer, epoch milliseconds; null while it does. */
  lostAtMs: number | null;
  /** Called when an interrupted run goes on. */
  onResumed(): void;
  /** Called to fill the screen for an audience. */
  onPresent(): void;
}) {
  const { run, selected, lostAtMs, onResumed, onPresent } = props;
  const finished = isFinished(run.status);
  return (
    <header className="run-head">
      <div className="run-title">
        <div className="run-names">
          <h1>{run.scenario.title}</h1>
          <p className="row small">
            <SourceBadge run={run} />
            <span role="status" aria-label="Run status">
              <StatusBadge status={run.status} />
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
                <Outcome run={run} />
              </>
            ) : null}
          </p>
        </div>
        <div className="row run-actions">
          {finished ? (
            <RunButton scenario={run.scenario.id} scale={run.scale} kind="button-ink">
              Run again
            </RunButton>
          ) : null}
          <button type="button" className="button" onClick={onPresent}>
            Present
          </button>
          <Link className="button" to="/editor" search={{ run: run.id }}>
            Edit and run
          </Link>
          <CopyLink />
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
              <Link className="button" to="/compare" search={{ runs: [run.id] }}>
                Compare
              </Link>
            </>
          ) : (
            <CancelRun id={run.id} />
          )}
        </div>
      </div>
      {lostAtMs === null ? null : (
        <p className="notice" data-tone="bad" role="alert">
          The server has not answered since {formatTimeOfDay(lostAtMs).slice(0, 8)}. What you see is as it was
          then; the page connects again by itself.
        </p>
      )}
      <Interruption run={run} onResumed={onResumed} />
      <Noise run={run} />
      {finished ? null : <RunProgress run={run} isStale={lostAtMs !== null} />}
    </header>
  );
}

function Interruption({ run, onResumed }: { run: Run; onResumed(): void }) {
  const { id, error, progress, imported = false } = run;
  if (error === null) return null;
  if (error.code !== 'RUN_INTERRUPTED')
    return (
      <div className="notice" data-tone="bad" role="alert">
        <p>The run failed: {error.message}. The points finished before the failure are kept.</p>
        <p className="small muted">{error.code}</p>
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
  if (!trust.isNoisy || run.points.length === 0) return null;
  return (
    <p className="notice trust small" data-noisy="">
      Measured on a busy machine: {trust.load}; {trust.noise}. A run on a quiet machine may find something
      else.
    </p>
  );
}

/** Copies the address of the page, with what is selected on it. */
function CopyLink() {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="button"
      onClick={() => {
        void navigator.clipboard?.writeText(window.location.href).then(() => setCopied(true));
      }}
    >
      <span aria-live="polite">{copied ? 'Link copied' : 'Copy link'}</span>
    </button>
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

function RunProgress({ run, isStale }: { run: Run; isStale: boolean }) {
  const { done, total, etaMs, current } = run.progress;
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
  const { status, progress, startedAtMs, endedAtMs } = run;
  const duration =
    startedAtMs === null || endedAtMs === null ? '' : ` in ${formatDuration(endedAtMs - startedAtMs)}`;
  const startTime = new Date(startedAtMs ?? run.createdAtMs).toLocaleString('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  return (
    <span>
      {formatCount(progress.done)} of {plural(progress.total, 'trial')}
      {progress.measuredAgain === undefined
        ? null
        : `, ${formatCount(progress.measuredAgain)} measured again`}
      {duration}
      {status === 'cancelled' ? '; the points finished before it was cancelled are kept' : ''}.{' '}
      <span className="muted">
        {run.recordedOn === undefined ? '' : `Recorded on ${run.recordedOn}; it comes with the lab. `}
        Started {startTime}
        {run.watched ? ', with a dashboard open during the measurement' : ''}.
      </span>
    </span>
  );
}

/** The most important results, of the best points. */
export function RunHighlights({ run }: { run: Run }) {
  const best = bestPoints(run);
  if (run.points.length === 0) return null;
  const faults = integrityFaults(run.points);
  return (
    <dl className="figures">
      {best === null ? null : (
        <>
          <Highlight
            name="Best sharded dequeue rate"
            value={formatRate(dequeuesOf(best.sharded))}
            tone="sharded"
          />
          <Highlight
            name="Best unsharded dequeue rate"
            value={formatRate(dequeuesOf(best.unsharded))}
            tone="unsharded"
          />
          <Highlight name="Sharded vs. unsharded" value={`${formatValue(best.ratio)} ×`} />
          {best.grouped === null ? null : (
            <>
              <Highlight
                name="Best grouped dequeue rate"
                value={formatRate(dequeuesOf(best.grouped.point))}
                tone="grouped"
              />
              <Highlight name="Sharded vs. grouped" value={`${formatValue(best.grouped.ofSharding)} ×`} />
            </>
          )}
        </>
      )}
      {run.claims.length === 0 ? null : (
        <Highlight name="Claims that hold here" value={holdingInWords(run)} />
      )}
      <Highlight name="Integrity faults" value={faults === 0 ? 'None' : formatCount(faults)} />
    </dl>
  );
}

/** "3 of 6", "3 of 6, provisionally" */
function holdingInWords({ claims }: Run): string {
  const holding = claims.filter(({ verdict }) => verdict === 'holds');
  const isProvisional = holding.some(({ provisional }) => provisional);
  return `${holding.length} of ${claims.length}${isProvisional ? ', provisionally' : ''}`;
}

function Highlight({
  name,
  value,
  tone,
}: {
  name: string;
  value: string;
  tone?: 'sharded' | 'unsharded' | 'grouped';
}) {
  return (
    <div>
      <dt className="figure-name">{name}</dt>
      <dd className={tone === undefined ? 'figure-value' : `figure-value ink-${tone}`}>{value}</dd>
    </div>
  );
}
