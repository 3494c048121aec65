import type { ProgramInfo, Scenario, ScenarioValidation } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { uploadScenario } from '../../api/queries.ts';
import { formatBytes, formatEstimate, plural } from '../../model/format.ts';
import { lineAt } from '../../model/json-excerpt.ts';
import { loadInWords } from '../../model/plan-load.ts';
import { changesOf, type JsonObject } from '../../model/scenario-draft.ts';
import { faultInWords } from '../../model/scenario-form.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { RunButton } from '../../parts/run-button.tsx';
import type { DraftCheck } from './use-draft-check.ts';

export interface DraftSummaryProps {
  text: string;
  /** Null while the text is no JSON object. */
  draft: JsonObject | null;
  origin: Scenario;
  check: DraftCheck;
  programs: readonly ProgramInfo[];
  onShow(path: string, line: number | undefined): void;
}

/** Stays in sight: whether the draft can run, how long that takes, its faults, and the buttons that save and run it. */
export function DraftSummary({ text, draft, origin, check, programs, onShow }: DraftSummaryProps) {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (saved: string) => uploadScenario(saved),
    onSuccess: () => client.invalidateQueries({ queryKey: ['scenarios'] }),
  });
  const { faults, isCurrent, quick, full } = check;
  const isSaved = save.data !== undefined && save.variables === text;
  const changes = draft === null ? [] : changesOf(origin, draft).filter(({ path }) => path !== '$schema');
  const parameters = programs.find(({ id }) => id === draft?.program)?.parameters ?? [];
  return (
    <section className="panel editor-summary" aria-label="State of the draft">
      <div className="editor-state">
        <div role="status">
          {faults.length > 0 ? (
            <b className="editor-bad">{plural(faults.length, 'error')}</b>
          ) : quick === null || full === null ? (
            'Checking…'
          ) : (
            <Estimates quick={quick} full={full} />
          )}
          {isCurrent || check.error !== null ? null : <span className="muted small"> checking…</span>}
        </div>
        <div className="row">
          <button
            type="button"
            className="button"
            disabled={!isCurrent || faults.length > 0 || save.isPending || isSaved}
            onClick={() => save.mutate(text)}
          >
            {isSaved ? 'Saved' : 'Save as my scenario'}
          </button>
          {isSaved ? (
            <>
              <RunButton scenario={save.data.id} scale="quick" kind="button-primary">
                Run quick
              </RunButton>
              <RunButton scenario={save.data.id} scale="full">
                Run full
              </RunButton>
              <Link to="/scenarios/$scenarioId" params={{ scenarioId: save.data.id }}>
                Open it
              </Link>
            </>
          ) : null}
        </div>
      </div>
      {faults.length === 0 ? null : (
        <ul className="editor-faults" aria-label="Errors in the draft">
          {faults.map((fault) => (
            <li key={`${fault.path} ${fault.message}`}>
              <button type="button" className="link-button" onClick={() => onShow(fault.path, check.line)}>
                Line {check.line ?? lineAt(text, fault.path) ?? 1}
              </button>{' '}
              {faultInWords(fault, parameters)}
            </li>
          ))}
          {check.more ? <li>There are more.</li> : null}
        </ul>
      )}
      {save.error === null ? null : <ErrorNotice error={save.error} />}
      {check.error === null ? null : <ErrorNotice error={check.error} retrying />}
      {changes.length === 0 ? null : (
        <details className="small">
          <summary>
            {plural(changes.length, 'change')} from “{origin.title}”
          </summary>
          <ul>
            {changes.map(({ path, before, after }) => (
              <li key={path}>
                {path}: {before} → {after}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Estimates({ quick, full }: { quick: ScenarioValidation; full: ScenarioValidation }) {
  return (
    <dl className="editor-estimates">
      <div>
        <dt>Quick</dt>
        <dd>
          <Estimate check={quick} />
        </dd>
      </div>
      <div>
        <dt>Full</dt>
        <dd>
          <Estimate check={full} />
        </dd>
      </div>
    </dl>
  );
}

/** The estimated duration of a run, and its load on the machine. */
function Estimate({ check: { plan, load, diskBytesMax } }: { check: ScenarioValidation }) {
  if (plan === null) return null;
  const { estimatedMs, points, trials } = plan;
  const disk = `at most ${formatBytes(diskBytesMax ?? 0)} of disk at a time`;
  return (
    <>
      {`about ${formatEstimate(estimatedMs)}, ${plural(points, 'point')} in ${plural(trials, 'trial')}`}
      <span className="editor-load small muted">
        {load === null ? disk : `${loadInWords(load)}; ${disk}`}
      </span>
    </>
  );
}
