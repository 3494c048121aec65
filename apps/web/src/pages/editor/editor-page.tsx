import type { Scenario, StudyList } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { runQuery, scenarioSchemaQuery, scenariosQuery, studiesQuery } from '../../api/queries.ts';
import { copyOf, formatDraft } from '../../model/scenario-draft.ts';
import type { SchemaNode } from '../../model/scenario-form.ts';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { ScenarioEditor } from './scenario-editor.tsx';

/** Begins a scenario of one's own where neither a scenario nor a run is given. */
const startScenario = 'first-look';

/** Changes a scenario of one's own, or a copy of a built-in one or of what a run measured. */
export function EditorPage() {
  const { scenario: id = startScenario, run: runId } = useSearch({ from: '/editor' });
  const scenarios = useQuery(scenariosQuery);
  const run = useQuery({ ...runQuery(runId ?? ''), enabled: runId !== undefined });
  const schema = useQuery(scenarioSchemaQuery);
  const studies = useQuery(studiesQuery);
  useTitle('Scenario editor');
  const entry = scenarios.data?.scenarios.find(({ scenario }) => scenario.id === id);
  const origin = runId === undefined ? entry?.scenario : run.data?.scenario;
  const error = scenarios.error ?? run.error ?? schema.error ?? studies.error;
  const isOwn = runId === undefined && entry?.source === 'uploaded';
  const taken = scenarios.data?.scenarios.map(({ scenario }) => scenario.id);
  return (
    <>
      <header className="page-head">
        <h1>Scenario editor</h1>
        <p className="lead">
          The form and the JSON are the same scenario: change either. It is checked as you type, by the server
          that will run it.
        </p>
      </header>
      {error === null ? null : <ErrorNotice error={error} />}
      {scenarios.data !== undefined && runId === undefined && entry === undefined ? (
        <p className="empty">There is no scenario “{id}”.</p>
      ) : origin === undefined ||
        taken === undefined ||
        schema.data === undefined ||
        studies.data === undefined ? (
        error === null ? (
          <Loading name="the scenario" />
        ) : null
      ) : (
        <Draft
          key={`${runId ?? ''}/${id}`}
          origin={origin}
          isOwn={isOwn}
          taken={taken}
          schema={schema.data}
          studies={studies.data}
        />
      )}
    </>
  );
}

function Draft(props: {
  origin: Scenario;
  isOwn: boolean;
  taken: readonly string[];
  schema: SchemaNode;
  studies: StudyList;
}) {
  const { origin, isOwn, taken, schema, studies } = props;
  // Chosen once: saving adds the name to those that are taken.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the draft must not start again when the list of scenarios changes
  const start = useMemo(() => `${formatDraft(isOwn ? origin : copyOf(origin, taken))}\n`, []);
  return <ScenarioEditor origin={origin} start={start} schema={schema} studies={studies} />;
}
