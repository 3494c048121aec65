import type { ScenarioEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { studiesQuery } from '../../api/queries.ts';
import { formatEstimate } from '../../model/format.ts';
import { tracksOf } from '../../model/tracks.ts';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { ScenarioUpload } from './scenario-upload.tsx';

/** Next steps: the documents' figures, scenarios with faults, and one's own workload. */
export function Tracks({ scenarios }: { scenarios: readonly ScenarioEntry[] }) {
  const { figures, breaking, own } = tracksOf(scenarios);
  const { data } = useQuery(studiesQuery);
  return (
    <>
      <div className="tracks">
        <section className="track track-wide panel" aria-labelledby="track-figures">
          <h2 id="track-figures">The documents’ figures</h2>
          <p className="small muted">Each measured here, beside what the document says.</p>
          <div className="track-documents">
            {figures.map(({ study, entries }) => (
              <div key={study} className="track-document">
                <h3>{data?.studies.find(({ id }) => id === study)?.document.title ?? study}</h3>
                <ScenarioLinks entries={entries} />
              </div>
            ))}
          </div>
        </section>
        <section className="track panel" aria-labelledby="track-break">
          <h2 id="track-break">Break it</h2>
          <p className="small muted">
            Faults and a conversion under load; nothing that was acknowledged may be lost.
          </p>
          <ScenarioLinks entries={breaking} />
          <Link to="/cluster" className="small">
            Kill processes by hand, under a load that counts its messages
          </Link>
        </section>
        <section className="track panel" aria-labelledby="track-own">
          <h2 id="track-own">Your workload</h2>
          <p className="small muted">Take a scenario, change one thing, run it.</p>
          <ScenarioUpload />
          <ul className="track-links">
            <li>
              <Link to="/editor">Write a scenario of your own</Link>
            </li>
            <li>
              <Link to="/what-if">What if the disk were slower, or the client further away?</Link>
            </li>
            <li>
              <Link to="/queues">A console for queues and topics</Link>
            </li>
            <li>
              <Link to="/scenarios">All {scenarios.length} scenarios</Link>
            </li>
          </ul>
        </section>
      </div>
      {own.length === 0 ? null : (
        <section className="section" aria-labelledby="own">
          <h2 id="own">Scenarios of your own</h2>
          <div className="split split-even">
            {own.map((entry) => (
              <ScenarioCard key={entry.scenario.id} entry={entry} />
            ))}
          </div>
        </section>
      )}
    </>
  );
}

function ScenarioLinks({ entries }: { entries: readonly ScenarioEntry[] }) {
  return (
    <ul className="track-links">
      {entries.map(({ scenario, plans }) => (
        <li key={scenario.id}>
          <Link to="/scenarios/$scenarioId" params={{ scenarioId: scenario.id }}>
            {scenario.title}
          </Link>
          <span className="small muted"> {formatEstimate(plans.quick.estimatedMs)}</span>
        </li>
      ))}
    </ul>
  );
}
