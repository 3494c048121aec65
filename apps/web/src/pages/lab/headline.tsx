import { numberParam, type ProgramInfo, pointKey, type Run, type ScenarioEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { recordedRunsQuery, runQuery, runsOfScenarioQuery } from '../../api/queries.ts';
import {
  chosenRun,
  comparableEvidence,
  type Evidence,
  trustOf,
  unshardedCommits,
} from '../../model/evidence.ts';
import { formatAgo, formatCount, formatEstimate, formatValue, plural } from '../../model/format.ts';
import { plannedProvenance, runProvenance } from '../../model/provenance.ts';
import { RunButton } from '../../parts/run-button.tsx';
import { RunFigure } from '../../parts/run-figure.tsx';
import { useProgram } from '../../parts/use-program.ts';

export const figure3 = 'white-paper-figure-3';

/**
 * One sentence of result, with what it is worth, and Figure 3 behind the document's. The run is this machine's best of
 * Figure 3; before its first, the recorded one.
 */
export function Headline({ entry }: { entry: ScenarioEntry | undefined }) {
  const own = useQuery(runsOfScenarioQuery(figure3));
  const best = own.data === undefined ? null : chosenRun(own.data.runs);
  const recorded = useQuery({ ...recordedRunsQuery, enabled: own.data !== undefined && best === null });
  const shown = best ?? recorded.data?.runs.find(({ scenarioId }) => scenarioId === figure3) ?? null;
  const run = useQuery({ ...runQuery(shown?.id ?? ''), enabled: shown !== null });
  const program = useProgram(entry?.scenario.program ?? 'queue');
  const evidence = useMemo(
    () => (run.data === undefined ? null : comparableEvidence(run.data.points)),
    [run.data],
  );
  return (
    <section className="headline" aria-label="Result">
      <div className="headline-text">
        {run.data === undefined || evidence === null ? (
          <Introduction />
        ) : (
          <Result run={run.data} evidence={evidence} />
        )}
        {entry === undefined ? null : <Reproduce entry={entry} isFirst={best === null} />}
      </div>
      {program === undefined || entry === undefined ? null : (
        <div>
          <h2 className="visually-hidden">The figure behind it</h2>
          <Figure run={run.data} entry={entry} program={program} evidence={evidence} />
        </div>
      )}
    </section>
  );
}

function Introduction() {
  return (
    <>
      <h1>How many messages a second can a queue carry, and what limits it?</h1>
      <p className="lead">
        A white paper says that a sharded queue reaches 76,000 messages a second, and that one with a common
        index stays under 8,000. Shardlab runs both on this machine, verifies every message, and shows where
        sessions wait. The paper’s Figure 3 has not been measured here yet.
      </p>
    </>
  );
}

function Result({ run, evidence }: { run: Run; evidence: Evidence }) {
  const { sharded, unsharded, grouped, ratio, interval } = evidence;
  const rate = (point: Evidence['sharded']) => point.figures.dequeuePerSec!.value;
  const number = (name: string) => numberParam(sharded.params, name);
  const trust = trustOf(run, evidence.repeats);
  const endedAtMs = run.endedAtMs ?? run.createdAtMs;
  return (
    <>
      <p className="small muted">
        {run.recordedOn === undefined
          ? `Measured on this machine ${formatAgo(endedAtMs, Date.now())}, ${run.scale} scale`
          : `Recorded on ${run.recordedOn}; Figure 3 has not been measured on this machine yet`}
      </p>
      <h1>
        With {plural(number('threads'), 'thread')} on {plural(number('instances'), 'instance')}, the sharded
        queue dequeues <strong className="ink-sharded">{formatCount(rate(sharded))}</strong> messages a
        second, the unsharded one, where {unshardedCommits},{' '}
        <strong className="ink-unsharded">{formatCount(rate(unsharded))}</strong>:{' '}
        {formatValue(Number(ratio.toPrecision(2)))} times as many.
      </h1>
      <p className="lead">
        Both at the largest point of Figure 3, with the same workload.
        {grouped === null ? null : (
          <>
            {' '}
            One writer for all sessions of the unsharded queue gives{' '}
            <strong className="ink-grouped">{formatCount(rate(grouped))}</strong>: group commit accounts for a
            factor of {formatValue(Number((rate(grouped) / rate(unsharded)).toPrecision(2)))}, sharding for
            one of {formatValue(Number((rate(sharded) / rate(grouped)).toPrecision(2)))}.
          </>
        )}
      </p>
      <p className="trust small" data-noisy={trust.doubt === null ? undefined : ''}>
        <strong>{trust.doubt ?? 'How far to trust it'}</strong>: {trust.repeats}
        {interval === null
          ? ''
          : ` (95 % interval ${formatValue(interval[0])} to ${formatValue(interval[1])} times)`}
        ; {trust.load}; {trust.noise}.{' '}
        <Link to="/runs/$runId" params={{ runId: run.id }}>
          Open this run
        </Link>
      </p>
    </>
  );
}

function Reproduce({ entry, isFirst }: { entry: ScenarioEntry; isFirst: boolean }) {
  return (
    <div className="row">
      <RunButton scenario={entry.scenario.id} scale="quick" kind={isFirst ? 'button-primary' : 'button-ink'}>
        Reproduce Figure 3
      </RunButton>
      <span className="small muted">
        Takes about {formatEstimate(entry.plans.quick.estimatedMs)}; its verdicts are provisional. At{' '}
        <Link to="/scenarios/$scenarioId" params={{ scenarioId: entry.scenario.id }}>
          full scale
        </Link>{' '}
        it takes {formatEstimate(entry.plans.full.estimatedMs)}.
      </span>
    </div>
  );
}

const figureHeight = 300;

function Figure(props: {
  run: Run | undefined;
  entry: ScenarioEntry;
  program: ProgramInfo;
  evidence: Evidence | null;
}) {
  const { run, entry, program, evidence } = props;
  const shown = useMemo(
    () => run ?? { scenario: entry.scenario, scale: 'quick' as const, points: [] },
    [run, entry],
  );
  return (
    <RunFigure
      run={shown}
      program={program}
      title="Figure 3: dequeue rate over threads"
      provenance={run === undefined ? plannedProvenance(entry.scenario.id) : runProvenance(run)}
      selected={evidence === null ? null : pointKey(evidence.sharded)}
      height={figureHeight}
    />
  );
}
