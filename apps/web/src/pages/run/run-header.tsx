import type { Run } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { cancelRun, exportHref } from '../../api/queries.ts';
import { formatCount, formatDuration, formatRate, formatValue, plural } from '../../model/format.ts';
import { bestPoints, dequeuesOf, integrityFaults } from '../../model/run-highlights.ts';
import { isFinished } from '../../model/run-state.ts';
import { SourceBadge, StatusBadge } from '../../parts/badges.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';

/** The title of a run, its progress or outcome, and its most important results. */
export function RunHeader({ run, isLost }: { run: Run; isLost: boolean }) {
  const finished = isFinished(run.status);
  return (
    <header className="run-head">
      <div className="page-head">
        <div className="row small">
          <SourceBadge run={run} />
          <span role="status" aria-label="Run status">
            <StatusBadge status={run.status} />
          </span>
          <span className="muted">{run.scale}</span>
          <Link to="/scenarios/$scenarioId" params={{ scenarioId: run.scenario.id }} className="muted">
            {run.scenario.id}
          </Link>
        </div>
        <h1>{run.scenario.title}</h1>
        <p className="lead">{run.scenario.question}</p>
      </div>
      {isLost ? (
        <p className="notice" role="alert">
          The connection to the server is lost. Reconnecting.
        </p>
      ) : null}
      {run.error === null ? null : (
        <div className="notice" data-tone="bad" role="alert">
          <p>The run failed: {run.error.message}. The points finished before the failure are kept.</p>
          <p className="small muted">{run.error.code}</p>
        </div>
      )}
      {finished ? <Outcome run={run} /> : <RunProgress run={run} />}
      <Highlights run={run} />
    </header>
  );
}

function RunProgress({ run }: { run: Run }) {
  const { done, total, etaMs, current } = run.progress;
  const cancel = useMutation({ mutationFn: () => cancelRun(run.id) });
  return (
    <div className="progress">
      <progress className="progress-bar" aria-label="Trials finished" value={done} max={Math.max(1, total)} />
      <div className="section-head">
        <p>
          {run.status === 'queued' ? (
            'Waiting for the previous run to finish.'
          ) : (
            <>
              <strong>
                {formatCount(done)} of {plural(total, 'trial')}
              </strong>
              {etaMs === null ? '' : `, about ${formatDuration(etaMs)} left`}
              {current === undefined ? '' : <span className="muted">: {current}</span>}
            </>
          )}
        </p>
        <button
          type="button"
          className="button"
          disabled={cancel.isPending || cancel.isSuccess}
          onClick={() => cancel.mutate()}
        >
          {cancel.isIdle || cancel.isError ? 'Cancel run' : 'Cancelling…'}
        </button>
      </div>
      {cancel.error === null ? null : <ErrorNotice error={cancel.error} />}
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
    <div className="section-head">
      <p>
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
      </p>
      <div className="row">
        <Link className="button" to="/runs/$runId/explain" params={{ runId: run.id }}>
          Explain
        </Link>
        <Link className="button" to="/compare" search={{ runs: [run.id] }}>
          Compare
        </Link>
        <a className="button" href={exportHref(run.id, 'json')}>
          Export JSON
        </a>
        <a className="button" href={exportHref(run.id, 'csv')}>
          Export CSV
        </a>
      </div>
    </div>
  );
}

function Highlights({ run }: { run: Run }) {
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
