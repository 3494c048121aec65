import type { ScenarioList } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { scenariosQuery, studiesQuery } from '../../api/queries.ts';
import { plural } from '../../model/format.ts';
import { findsScenario, scenarioGroups } from '../../model/scenario-groups.ts';
import { SearchField } from '../../parts/field.tsx';
import { JumpLinks } from '../../parts/jump-links.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** All scenarios as cards, by the document on which they are based. */
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
        {(data) => <Groups scenarios={data.scenarios} />}
      </QueryResult>
    </>
  );
}

function Groups({ scenarios }: Pick<ScenarioList, 'scenarios'>) {
  const { data } = useQuery(studiesQuery);
  const [typed, setTyped] = useState('');
  const text = useDeferredValue(typed.trim());
  const found = scenarios.filter((entry) => findsScenario(text, entry));
  const groups = scenarioGroups(found, data?.studies ?? []);
  const idOf = (study: string) => `of-${study || 'none'}`;
  return (
    <>
      <div className="section">
        <SearchField
          className="scenario-filter"
          label="Filter"
          value={typed}
          placeholder="Title, question, id or claim"
          onChange={setTyped}
        />
        <p className="small muted" role="status">
          {text === ''
            ? plural(scenarios.length, 'scenario')
            : `${found.length} of ${plural(scenarios.length, 'scenario')}`}
        </p>
        {groups.length < 2 ? null : (
          <JumpLinks
            links={groups.map(({ study, title, entries }) => ({
              id: idOf(study),
              label: `${title} (${entries.length})`,
            }))}
          />
        )}
      </div>
      {groups.map(({ study, title, entries }) => (
        <section key={study} className="section" aria-labelledby={idOf(study)}>
          <h2 id={idOf(study)}>{title}</h2>
          <div className="split split-even">
            {entries.map((entry) => (
              <ScenarioCard key={entry.scenario.id} entry={entry} />
            ))}
          </div>
        </section>
      ))}
      {groups.length > 0 ? null : <p className="empty">No scenario contains “{text}”.</p>}
    </>
  );
}
