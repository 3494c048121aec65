import type { Run, RunSummary, ScenarioEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { recordedRunsQuery, runQuery } from '../../api/queries.ts';
import { describeCombination } from '../../model/combination-words.ts';
import { formatAgo, formatCount, formatDuration, formatValue } from '../../model/format.ts';
import { bestPoint, bestPoints, dequeuesOf } from '../../model/run-highlights.ts';
import { countVerdicts, describeVerdictCount } from '../../model/verdicts.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useStartRun } from '../../parts/use-start-run.ts';
import { Replay } from './replay.tsx';
import { Schematic } from './schematic.tsx';

const firstLook = 'first-look';
const figure3 = 'white-paper-figure-3';

/**
 * The newest result of this machine in one sentence; before its first run, that of the recorded Figure 3, or an introduction
 * where none is recorded.
 */
export function Headline(props: {
  scenarios: readonly ScenarioEntry[];
  /** Null while the list is loading. */
  runs: readonly RunSummary[] | null;
}) {
  const newest = props.runs?.find((run) => run.status === 'done') ?? null;
  const recorded = useQuery({ ...recordedRunsQuery, enabled: props.runs !== null && newest === null });
  const shown = newest ?? recorded.data?.runs.find(({ scenarioId }) => scenarioId === figure3) ?? null;
  const run = useQuery({ ...runQuery(shown?.id ?? ''), enabled: shown !== null });
  if (props.runs === null || (newest === null && recorded.isPending)) return <Introduction />;
  if (shown === null) return <Introduction scenarios={props.scenarios} />;
  if (run.data === undefined) return <Introduction />;
  return <Result run={run.data} scenarios={props.scenarios} />;
}

function Introduction({ scenarios }: { scenarios?: readonly ScenarioEntry[] }) {
  return (
    <section className="headline" aria-label="About Shardlab">
      <div className="headline-text">
        <h1>How many messages per second can a queue carry on this machine, and what limits it?</h1>
        <p className="lead">
          Shardlab runs the same workload on a sharded queue and on a conventional job table, verifies every
          message, and compares the results with the claims of a white paper.
        </p>
        {scenarios === undefined ? null : (
          <>
            <p>Nothing has been measured here yet.</p>
            <FirstLook scenarios={scenarios} primary />
          </>
        )}
      </div>
      <Schematic />
    </section>
  );
}

function Result({ run, scenarios }: { run: Run; scenarios: readonly ScenarioEntry[] }) {
  const best = bestPoints(run);
  const endedAtMs = run.endedAtMs ?? run.createdAtMs;
  return (
    <section
      className="headline"
      aria-label={run.recordedOn === undefined ? 'Result of this machine' : 'Result of another machine'}
    >
      <div className="headline-text">
        <h1>
          <Sentence run={run} />
        </h1>
        <p className="lead">
          {best === null ? null : (
            <>
              Best points: {describeCombination(best.sharded)}; {describeCombination(best.unsharded)}.{' '}
            </>
          )}
          {verdictSentence(run)}
        </p>
        <div className="row">
          {run.recordedOn === undefined ? null : <FirstLook scenarios={scenarios} primary />}
          <Link
            className={run.recordedOn === undefined ? 'button button-primary' : 'button'}
            to="/runs/$runId"
            params={{ runId: run.id }}
          >
            Open this run
          </Link>
          {run.recordedOn === undefined ? <FirstLook scenarios={scenarios} /> : null}
        </div>
        <p className="small muted">
          {run.recordedOn === undefined
            ? `Measured ${formatAgo(endedAtMs, Date.now())}`
            : 'Nothing has been measured on this machine yet: this run comes with the lab, recorded'}{' '}
          with “{run.scenario.title}” ({run.scale})
          {run.environment === null
            ? ''
            : `, on ${run.recordedOn ?? `${run.environment.cores} × ${run.environment.cpuModel}`}`}
          .
        </p>
      </div>
      <Replay runId={run.id} cores={run.environment?.cores ?? 1} />
    </section>
  );
}

function Sentence({ run }: { run: Run }) {
  const where = run.recordedOn === undefined ? 'On this machine' : 'On the machine of the recording';
  const best = bestPoints(run);
  if (best !== null)
    return (
      <>
        {where} the sharded queue dequeues up to{' '}
        <strong className="ink-sharded">{formatCount(dequeuesOf(best.sharded))}</strong> messages per second,
        the unsharded queue up to{' '}
        <strong className="ink-unsharded">{formatCount(dequeuesOf(best.unsharded))}</strong>: a factor of{' '}
        {formatValue(best.ratio)}.{' '}
        {best.grouped === null ? null : (
          <>
            Group commit gives {formatValue(best.grouped.ofGroups)} of it (
            <strong className="ink-grouped">{formatCount(dequeuesOf(best.grouped.point))}</strong> a second
            with one writer for all sessions), sharding {formatValue(best.grouped.ofSharding)}.
          </>
        )}
      </>
    );
  const only = bestPoint(run.points, 'sharded') ?? bestPoint(run.points, 'unsharded');
  if (only === null) return 'The newest run finished without any points.';
  return (
    <>
      {where} the {only.system} queue dequeues up to{' '}
      <strong className={`ink-${only.system}`}>{formatCount(dequeuesOf(only))}</strong> messages per second.
    </>
  );
}

/** "Claims of the white paper: 4 hold here, 1 does not hold here." */
function verdictSentence(run: Run): string {
  if (run.claims.length === 0) return '';
  const counts = countVerdicts(run.claims).map(describeVerdictCount).join(', ');
  return `Claims of the white paper: ${counts}.`;
}

function FirstLook({
  scenarios,
  primary = false,
}: {
  scenarios: readonly ScenarioEntry[];
  primary?: boolean;
}) {
  const start = useStartRun();
  const entry = scenarios.find(({ scenario }) => scenario.id === firstLook) ?? scenarios[0];
  if (entry === undefined) return null;
  return (
    <>
      <div>
        <button
          type="button"
          className={primary ? 'button button-primary' : 'button'}
          disabled={start.isPending}
          onClick={() => start.mutate({ scenario: entry.scenario.id, scale: 'quick' })}
        >
          {primary ? 'Take a first measurement' : 'Measure again'} (about{' '}
          {formatDuration(entry.plans.quick.estimatedMs)})
        </button>
      </div>
      {start.error === null ? null : <ErrorNotice error={start.error} />}
    </>
  );
}
