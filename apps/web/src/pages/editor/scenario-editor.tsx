import type { Scenario, StudyList } from '@shardlab/contract';
import { useEffect, useMemo, useRef, useState } from 'react';
import { formatDraft, type JsonObject, readDraft } from '../../model/scenario-draft.ts';
import { type SchemaNode, schemaOfProgram } from '../../model/scenario-form.ts';
import { Choice } from '../../parts/choice.tsx';
import { DraftSummary } from './draft-summary.tsx';
import { JsonEditor, type JsonEditorHandle } from './json-editor.tsx';
import { PlannedTopologyChart } from './planned-topology-chart.tsx';
import { ScenarioForm } from './scenario-form.tsx';
import { useDraftCheck } from './use-draft-check.ts';

export interface ScenarioEditorProps {
  /** The scenario at which the editing began. */
  origin: Scenario;
  /** The text of the draft at the start. */
  start: string;
  schema: SchemaNode;
  studies: StudyList;
}

/** Form and text of one draft, the server's check of it, and a preview. */
export function ScenarioEditor({ origin, start, schema, studies }: ScenarioEditorProps) {
  const [text, setText] = useState(start);
  const [shown, setShown] = useState<'form' | 'json'>('form');
  const editor = useRef<JsonEditorHandle>(null);
  const draft = useMemo(() => readDraft(text), [text]);
  // The form keeps showing the last valid object while the typed text is not one.
  const [lastDraft, setLastDraft] = useState<JsonObject | null>(draft);
  useEffect(() => {
    if (draft !== null) setLastDraft(draft);
  }, [draft]);
  const known = draft ?? lastDraft ?? {};
  const check = useDraftCheck(text);
  const program = studies.programs.find(({ id }) => id === known.program);
  const ofProgram = schemaOfProgram(schema, known.program);
  const showInText = (path: string, line: number | undefined) => {
    setShown('json');
    // After the text is shown, which on a phone takes the place of the form.
    requestAnimationFrame(() => editor.current?.showPointer(path, line));
  };
  return (
    <div className="editor" data-shown={shown}>
      <DraftSummary
        text={text}
        draft={draft}
        origin={origin}
        check={check}
        programs={studies.programs}
        onShow={showInText}
      />
      <div className="editor-choice">
        <Choice<'form' | 'json'>
          label="Edit"
          value={shown}
          options={[
            { value: 'form', label: 'Form' },
            { value: 'json', label: 'JSON' },
          ]}
          onChange={setShown}
        />
      </div>
      <div className="editor-columns">
        <section className="editor-form" aria-label="Form">
          <fieldset className="editor-fields" disabled={draft === null}>
            {draft === null ? (
              <p className="notice small" role="status">
                The JSON is incomplete. The form can be used again once it is complete.
              </p>
            ) : null}
            <ScenarioForm
              draft={known}
              schema={ofProgram}
              program={program}
              programs={studies.programs}
              systems={studies.systems}
              faults={check.faults}
              onChange={(next) => setText(`${formatDraft(next)}\n`)}
            />
          </fieldset>
        </section>
        <section className="editor-text" aria-label="JSON">
          <JsonEditor
            ref={editor}
            text={text}
            schema={ofProgram ?? schema}
            faults={check.faults}
            line={check.line}
            onChange={setText}
          />
        </section>
      </div>
      <PlannedTopologyChart draft={known} />
    </div>
  );
}
