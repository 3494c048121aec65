import type { ScenarioEntry } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { deleteScenario, scenarioQuery } from '../../api/queries.ts';
import { formatCount, formatEstimate } from '../../model/format.ts';
import { ErrorNotice, QueryResult } from '../../parts/query-states.tsx';
import { ScenarioRuns, ScenarioTags } from '../../parts/scenario-card.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** One scenario: the size and duration of a run, and its JSON. */
export function ScenarioPage() {
  const { scenarioId } = useParams({ from: '/scenarios/$scenarioId' });
  const entry = useQuery(scenarioQuery(scenarioId));
  useTitle(entry.data?.scenario.title ?? scenarioId);
  return (
    <>
      {entry.data === undefined ? <h1>Scenario</h1> : null}
      <QueryResult query={entry} name="the scenario">
        {(data) => <ScenarioView entry={data} />}
      </QueryResult>
    </>
  );
}

function ScenarioView({ entry }: { entry: ScenarioEntry }) {
  const { scenario, plans } = entry;
  const json = `${JSON.stringify(scenario, null, 2)}\n`;
  return (
    <>
      <header className="page-head">
        <h1>{scenario.title}</h1>
        <p className="lead">{scenario.question}</p>
        <ScenarioTags entry={entry} />
      </header>
      <section className="section" aria-labelledby="plan">
        <h2 id="plan">Plan of a run</h2>
        <ScrollX label="Plan" framed>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Scale</th>
                <th scope="col" className="number">
                  Points
                </th>
                <th scope="col" className="number">
                  Trials
                </th>
                <th scope="col" className="number">
                  Estimated time
                </th>
              </tr>
            </thead>
            <tbody>
              {(['quick', 'full'] as const).map((scale) => (
                <tr key={scale}>
                  <th scope="row">{scale}</th>
                  <td className="number">{formatCount(plans[scale].points)}</td>
                  <td className="number">{formatCount(plans[scale].trials)}</td>
                  <td className="number">{formatEstimate(plans[scale].estimatedMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
        <ScenarioRuns entry={entry} />
      </section>
      <section className="section" aria-labelledby="json">
        <div className="section-head">
          <h2 id="json">The scenario as JSON</h2>
          <div className="row">
            <a
              className="button"
              download={`${scenario.id}.json`}
              href={`data:application/json;charset=utf-8,${encodeURIComponent(json)}`}
            >
              Download JSON
            </a>
            {entry.source === 'uploaded' ? <DeleteScenario id={scenario.id} /> : null}
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre className="code" tabIndex={0}>
          {json
            .trimEnd()
            .split('\n')
            .map((line, index) => (
              <code
                // biome-ignore lint/suspicious/noArrayIndexKey: lines of a fixed text have no other identity
                key={index}
                className="code-line"
                data-number={index + 1}
              >
                {line}
              </code>
            ))}
        </pre>
      </section>
    </>
  );
}

function DeleteScenario({ id }: { id: string }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteScenario(id),
    onSuccess: async () => {
      await navigate({ to: '/' });
      await client.invalidateQueries({ queryKey: ['scenarios'] });
    },
  });
  return (
    <>
      <button
        type="button"
        className="button button-danger"
        disabled={remove.isPending}
        onClick={() => remove.mutate()}
      >
        Delete this scenario
      </button>
      {remove.error === null ? null : <ErrorNotice error={remove.error} />}
    </>
  );
}
