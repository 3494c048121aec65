import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runsQuery, scenariosQuery } from '../api/queries.ts';
import { GalleryStatement } from './gallery-statement.tsx';
import { Answered } from './page-states.tsx';
import { RunTable } from './run-table.tsx';
import { ScenarioCard } from './scenario-card.tsx';
import { ScenarioUpload } from './scenario-upload.tsx';
import { useTitle } from './use-title.ts';

const recentRuns = 6;

/** The first page: what this machine has shown, what can be run, what was run. */
export function GalleryPage() {
  useTitle('');
  const scenarios = useQuery(scenariosQuery);
  const runs = useQuery(runsQuery(recentRuns));
  return (
    <>
      <GalleryStatement scenarios={scenarios.data?.scenarios ?? []} runs={runs.data?.runs ?? null} />
      <section className="section" aria-labelledby="scenarios">
        <div className="section-head">
          <h2 id="scenarios">Scenarios</h2>
          <p className="small muted">Each one is an experiment as data. Runs go one at a time.</p>
        </div>
        <Answered query={scenarios} what="scenarios">
          {(data) => (
            <div className="split split-even">
              {data.scenarios.map((entry) => (
                <ScenarioCard key={entry.scenario.id} entry={entry} />
              ))}
            </div>
          )}
        </Answered>
        <ScenarioUpload />
      </section>
      <section className="section" aria-labelledby="recent">
        <div className="section-head">
          <h2 id="recent">Recent runs</h2>
          <Link to="/runs" className="small">
            All runs
          </Link>
        </div>
        {runs.data === undefined ? null : <RunTable runs={runs.data.runs} />}
      </section>
    </>
  );
}
