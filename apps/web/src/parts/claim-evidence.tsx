import { type ClaimLedgerEntry, claimHistoryMax, type ScenarioEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { runQuery, scenariosQuery } from '../api/queries.ts';
import { formatAgo, formatEstimate } from '../model/format.ts';
import { runProvenance } from '../model/provenance.ts';
import { VerdictBadge } from './badges.tsx';
import { ClaimClauses } from './claim-clauses.tsx';
import { ClaimFigure } from './claim-figure.tsx';
import { ClaimSlips } from './claim-slips.tsx';
import { DocumentWords } from './document-words.tsx';
import { RunButton } from './run-button.tsx';
import { RunFigure } from './run-figure.tsx';
import { useProgram } from './use-program.ts';

/** The document's statement, the result, and the run that found it. A claim that this machine has not judged offers its run. */
export function ClaimEvidence({ entry }: { entry: ClaimLedgerEntry }) {
  const { last } = entry;
  const isJudgedHere = last !== null && last.recordedOn === null;
  return (
    <>
      <DocumentWords claim={entry} />
      <ClaimSlips claim={entry.id} />
      {entry.weak === null ? null : <p className="small muted">Weak: {entry.weak}</p>}
      {last === null ? null : (
        <>
          <ClaimFigure claim={last} />
          {last.clauses.length < 2 ? <p>{last.reason}</p> : null}
          <ClaimClauses clauses={last.clauses} isRecorded={last.recordedOn !== null} />
          <p className="small muted">
            {last.recordedOn === null
              ? ''
              : `Recorded on ${last.recordedOn}, not measured on this machine yet: `}
            <RunName claim={entry.id} run={last} />
            {last.runKept ? (
              <>
                {' '}
                (
                <Link to="/runs/$runId/explain" params={{ runId: last.runId }}>
                  where its time goes
                </Link>
                )
              </>
            ) : null}
            , {formatAgo(last.endedAtMs, Date.now())}
            <OtherRuns claim={entry.id} runs={last.others} />
            {entry.judged > 1 ? `. Judged ${entry.judged} times; newest first: ${verdictHistory(entry)}` : ''}
          </p>
        </>
      )}
      {!isJudgedHere || last.provisional || last.verdict === 'inconclusive' ? (
        <RunFor claim={entry.id} isJudgedHere={isJudgedHere} />
      ) : null}
    </>
  );
}

type JudgedRun = NonNullable<ClaimLedgerEntry['last']>['others'][number];

/** Its scenario and scale, as a link while the server has the run. */
function RunName({ claim, run: { runId, scenarioId, scale, runKept } }: { claim: string; run: JudgedRun }) {
  const name = `${scenarioId}, ${scale}`;
  if (!runKept) return name;
  return (
    <Link to="/runs/$runId" params={{ runId }} search={{ claim }}>
      {name}
    </Link>
  );
}

/** "; other conditions from white-paper-forwarding, full, 3 h ago" */
function OtherRuns({ claim, runs }: { claim: string; runs: readonly JudgedRun[] }) {
  return runs.map((run, index) => (
    <Fragment key={run.runId}>
      {index === 0 ? '; other conditions from ' : ', '}
      <RunName claim={claim} run={run} />, {formatAgo(run.endedAtMs, Date.now())}
    </Fragment>
  ));
}

/** The badge of the best verdict, or a note that there is none. */
export function ClaimStanding({ entry: { last } }: { entry: ClaimLedgerEntry }) {
  if (last === null) return <span className="badge">Not judged yet</span>;
  return (
    <VerdictBadge
      verdict={last.verdict}
      provisional={last.provisional}
      isRecorded={last.recordedOn !== null}
    />
  );
}

/** "holds, holds, inconclusive, …" */
function verdictHistory({ history, judged }: ClaimLedgerEntry): string {
  const words = history
    .slice(0, verdictsShown)
    .map(
      ({ verdict, provisional }) => `${verdict.replaceAll('-', ' ')}${provisional ? ' (provisional)' : ''}`,
    );
  return `${words.join(', ')}${judged > verdictsShown ? ', …' : ''}`;
}

const verdictsShown = Math.min(6, claimHistoryMax);

/** The scenario that judges a claim in the least time: quick while this machine has not, at full scale for a final verdict. */
function RunFor({ claim, isJudgedHere }: { claim: string; isJudgedHere: boolean }) {
  const { data } = useQuery(scenariosQuery);
  const scale = isJudgedHere ? 'full' : 'quick';
  const time = (entry: ScenarioEntry) => entry.plans[scale].estimatedMs;
  const [entry] = (data?.scenarios ?? [])
    .filter(({ scenario }) => scenario.claims.includes(claim))
    .sort((a, b) => time(a) - time(b));
  if (entry === undefined) return null;
  return (
    <div className="row">
      <RunButton scenario={entry.scenario.id} scale={scale} kind={isJudgedHere ? '' : 'button-ink'}>
        {isJudgedHere ? `Run ${claim} at full scale` : `Run ${claim}`}
      </RunButton>
      <span className="small muted">
        {entry.scenario.title}, about {formatEstimate(time(entry))}
      </span>
    </div>
  );
}

const figureHeight = 260;

/** The chart of the run that judged a claim; nothing if this server no longer has it. */
export function ClaimChart({ entry: { id, last } }: { entry: ClaimLedgerEntry }) {
  const run = useQuery({ ...runQuery(last?.runId ?? ''), enabled: last?.runKept ?? false });
  const program = useProgram(run.data?.scenario.program ?? '');
  if (run.data === undefined || program === undefined || last === null) return null;
  return (
    <RunFigure
      run={run.data}
      program={program}
      title={`The run that judged ${id}: ${run.data.scenario.title}`}
      provenance={runProvenance(run.data)}
      selected={null}
      height={figureHeight}
    />
  );
}
