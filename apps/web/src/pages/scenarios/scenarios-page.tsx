import { useQuery } from '@tanstack/react-query';
import { scenariosQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** All scenarios as cards. */
export function ScenariosPage() {
  useTitle('Scenarios');
  const scenarios = useQuery(scenariosQuery);
  return (
    <>
      <header className="page-head">
        <h1>Scenarios</h1>
        <p className="lead">Each scenario is an experiment, described as JSON. Runs execute one at a time.</p>
      </header>
      <QueryResult query={scenarios} name="scenarios">
        {(data) => (
          <section className="section" aria-labelledby="all">
            <h2 id="all">All {data.scenarios.length}</h2>
            <div className="split split-even">
              {data.scenarios.map((entry) => (
                <ScenarioCard key={entry.scenario.id} entry={entry} />
              ))}
            </div>
          </section>
        )}
      </QueryResult>
    </>
  );
}
