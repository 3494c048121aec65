import type { PlanFigures, Scale, Scenario, ScenarioEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId } from 'react';
import { recordedRunsQuery, studiesQuery } from '../api/queries.ts';
import { formatCount, formatEstimate, plural } from '../model/format.ts';
import { RunButton } from './run-button.tsx';

/** One scenario: its question, its origin, and the duration of a run. */
export function ScenarioCard({ entry }: { entry: ScenarioEntry }) {
  const { scenario } = entry;
  const titleId = useId();
  return (
    <article className="panel scenario" aria-labelledby={titleId}>
      <div className="scenario-text">
        <h3 id={titleId}>
          <Link to="/scenarios/$scenarioId" params={{ scenarioId: scenario.id }}>
            {scenario.title}
          </Link>
        </h3>
        <p className="lead">{scenario.question}</p>
        <ScenarioTags entry={entry} />
      </div>
      <ScenarioRuns entry={entry} />
    </article>
  );
}

/** The origin of a scenario and the claims that it tests. */
export function ScenarioTags({ entry: { scenario, source } }: { entry: ScenarioEntry }) {
  return (
    <div className="row small muted">
      <ScenarioOrigin scenario={scenario} />
      {scenario.claims.length > 0 ? (
        <span className="row">
          Claims{' '}
          {scenario.claims.map((claim) => (
            <span key={claim} className="tag">
              {claim}
            </span>
          ))}
        </span>
      ) : null}
      {source === 'uploaded' ? <span className="tag">Uploaded</span> : null}
    </div>
  );
}

/** "Oracle white paper, Figure 3" */
function ScenarioOrigin({ scenario: { study, figure } }: { scenario: Scenario }) {
  const { data } = useQuery(studiesQuery);
  if (study === undefined) return <span>Not based on a document</span>;
  const kind = data?.studies.find(({ id }) => id === study)?.document.kind ?? study;
  return <span>{figure === undefined ? kind : `${kind}, ${figure}`}</span>;
}

/** The two buttons that start a run, each with its size and estimated duration. */
export function ScenarioRuns({ entry }: { entry: ScenarioEntry }) {
  const button = (scale: Scale, label: string, plan: PlanFigures) => (
    <div className="scenario-run">
      <RunButton scenario={entry.scenario.id} scale={scale} kind={scale === 'quick' ? 'button-ink' : ''}>
        {label}
      </RunButton>
      <p className="small muted">
        about {formatEstimate(plan.estimatedMs)}, {plural(plan.points, 'point')}
        {plan.trials > plan.points ? ` in ${formatCount(plan.trials)} trials` : ''}
      </p>
    </div>
  );
  return (
    <div className="scenario-runs">
      {button('quick', 'Run quick', entry.plans.quick)}
      {button('full', 'Run full', entry.plans.full)}
      <p className="small scenario-edit">
        <Link to="/editor" search={{ scenario: entry.scenario.id }}>
          {entry.source === 'uploaded' ? 'Edit' : 'Copy and edit'}
        </Link>
      </p>
      <RecordedRun scenarioId={entry.scenario.id} />
    </div>
  );
}

/** A link to the run at full scale that comes with the lab, if there is one. */
function RecordedRun({ scenarioId }: { scenarioId: string }) {
  const { data } = useQuery(recordedRunsQuery);
  const recorded = data?.runs.find((run) => run.scenarioId === scenarioId);
  if (recorded === undefined) return null;
  return (
    <p className="small muted scenario-recorded">
      <Link to="/runs/$runId" params={{ runId: recorded.id }}>
        Recorded full run
      </Link>
      , on {recorded.recordedOn}
    </p>
  );
}
