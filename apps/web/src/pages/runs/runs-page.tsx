import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { runsQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunTable } from '../../parts/run-table.tsx';
import { useTitle } from '../../parts/use-title.ts';

const pageSize = 25;
/** The limit of the server on one answer. */
const shownMax = 200;

/** All runs that the server has stored. */
export function RunsPage() {
  useTitle('Runs');
  const [shown, setShown] = useState(pageSize);
  const runs = useQuery({ ...runsQuery(shown), placeholderData: (before) => before });
  return (
    <>
      <header className="page-head">
        <h1>Runs</h1>
        <p className="lead">Newest first. A run continues when no page is open, and its results are kept.</p>
      </header>
      <QueryResult query={runs} name="runs">
        {(data) => (
          <div className="section">
            <RunTable runs={data.runs} />
            {data.next !== null && shown < shownMax ? (
              <div>
                <button type="button" className="button" onClick={() => setShown(shown + pageSize)}>
                  Show older runs
                </button>
              </div>
            ) : null}
          </div>
        )}
      </QueryResult>
    </>
  );
}
