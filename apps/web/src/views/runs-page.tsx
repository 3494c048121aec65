import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { runsQuery } from '../api/queries.ts';
import { Answered } from './page-states.tsx';
import { RunTable } from './run-table.tsx';
import { useTitle } from './use-title.ts';

const pageSize = 25;
/** The server's own bound of one answer. */
const shownMax = 200;

/** Every run that the server remembers, across restarts. */
export function RunsPage() {
  useTitle('Runs');
  const [shown, setShown] = useState(pageSize);
  const runs = useQuery({ ...runsQuery(shown), placeholderData: (before) => before });
  return (
    <>
      <header className="page-head">
        <h1>Runs</h1>
        <p className="lead">
          Newest first. A run goes on without a page that watches it, and is kept when it ends.
        </p>
      </header>
      <Answered query={runs} what="runs">
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
      </Answered>
    </>
  );
}
