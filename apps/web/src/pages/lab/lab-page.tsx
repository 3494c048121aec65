import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runsQuery, scenariosQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunTable } from '../../parts/run-table.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { ClaimMosaic } from './claim-mosaic.tsx';
import { figure3, Headline } from './headline.tsx';
import { Tracks } from './tracks.tsx';

const recentRuns = 6;

/** The start page: one result, all claims, where to go on, and the recent runs. */
export function LabPage() {
  useTitle('');
  const scenarios = useQuery(scenariosQuery);
  const runs = useQuery(runsQuery(recentRuns));
  return (
    <>
      <Headline entry={scenarios.data?.scenarios.find(({ scenario }) => scenario.id === figure3)} />
      <ClaimMosaic />
      <QueryResult query={scenarios} name="scenarios">
        {(data) => <Tracks scenarios={data.scenarios} />}
      </QueryResult>
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
