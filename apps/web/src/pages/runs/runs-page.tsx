import { runLabelLimits } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { runsQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunTable } from '../../parts/run-table.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { EditRunDialog } from './edit-run-dialog.tsx';
import { ImportRun } from './import-run.tsx';

const pageSize = 25;
/** The limit of the server on one answer. */
const shownMax = 200;
/** The compare page takes up to six. */
const chosenMax = 6;

/** All runs that the server has stored: found by a text, named, compared, deleted; and runs of other machines. */
export function RunsPage() {
  useTitle('Runs');
  const [shown, setShown] = useState(pageSize);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const searched = useDeferredValue(text.trim());
  const runs = useQuery({ ...runsQuery(shown, searched), placeholderData: (before) => before });
  const choose = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-chosenMax));
  return (
    <>
      <header className="page-head">
        <h1>Runs</h1>
        <p className="lead">Newest first. A run continues when no page is open, and its results are kept.</p>
      </header>
      <section className="section" aria-label="All runs">
        <div className="section-head">
          <label className="field explain-against">
            <span>Filter</span>
            <input
              className="input"
              type="search"
              value={text}
              maxLength={runLabelLimits.textMax}
              placeholder="Name, note, scenario or id"
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <div className="row">
            <ImportRun />
            {chosen.length < 2 ? (
              <span className="small muted">Choose two to six runs to compare them.</span>
            ) : (
              <Link className="button" to="/compare" search={{ runs: [...chosen] }}>
                Compare {chosen.length} runs
              </Link>
            )}
          </div>
        </div>
        <QueryResult query={runs} name="runs">
          {(data) => (
            <>
              {data.runs.length === 0 && searched !== '' ? (
                <p className="empty">No run contains “{searched}”.</p>
              ) : (
                <RunTable
                  runs={data.runs}
                  chosen={{ ids: chosen, onChoose: choose }}
                  tools={(run) =>
                    run.status === 'queued' || run.status === 'running' ? null : <EditRunDialog run={run} />
                  }
                />
              )}
              {data.next !== null && shown < shownMax ? (
                <div>
                  <button type="button" className="button" onClick={() => setShown(shown + pageSize)}>
                    Show older runs
                  </button>
                </div>
              ) : null}
            </>
          )}
        </QueryResult>
      </section>
    </>
  );
}
