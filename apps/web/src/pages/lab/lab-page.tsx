import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runsQuery, scenariosQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunTable } from '../../parts/run-table.tsx';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { Headline } from './headline.tsx';
import { ScenarioUpload } from './scenario-upload.tsx';

const recentRuns = 6;

/** The start page: the result of this machine, the scenarios, and the recent runs. */
export function LabPage() {
  useTitle('');
  const scenarios = useQuery(scenariosQuery);
  const runs = useQuery(runsQuery(recentRuns));
  return (
    <>
      <Headline scenarios={scenarios.data?.scenarios ?? []} runs={runs.data?.runs ?? null} />
      <section className="section" aria-labelledby="scenarios">
        <div className="section-head">
          <h2 id="scenarios">Scenarios</h2>
          <p className="small muted">
            Each scenario is an experiment, described as JSON. Runs execute one at a time.
          </p>
        </div>
        <QueryResult query={scenarios} name="scenarios">
          {(data) => (
            <div className="split split-even">
              {data.scenarios.map((entry) => (
                <ScenarioCard key={entry.scenario.id} entry={entry} />
              ))}
            </div>
          )}
        </QueryResult>
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
