import { type RunLabels, type RunSummary, runLabelLimits } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { deleteRun, labelRun } from '../../api/queries.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';

const noLabels: RunLabels = { name: '', note: '', baseline: false };

/** Name, note and baseline of a run, and its deletion. */
export function EditRunDialog({ run }: { run: RunSummary }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [labels, setLabels] = useState(run.labels ?? noLabels);
  const [asksToDelete, setAsksToDelete] = useState(false);
  const client = useQueryClient();
  const done = async () => {
    dialog.current?.close();
    await client.invalidateQueries({ queryKey: ['runs'] });
  };
  const save = useMutation({ mutationFn: () => labelRun(run.id, labels), onSuccess: done });
  const remove = useMutation({ mutationFn: () => deleteRun(run.id), onSuccess: done });
  const error = save.error ?? remove.error;
  const titleId = `edit-${run.id}`;
  return (
    <>
      <button
        type="button"
        className="button button-quiet"
        aria-label={`Edit ${run.labels?.name || run.scenarioTitle}, run ${run.id.slice(0, 8)}`}
        onClick={() => {
          setLabels(run.labels ?? noLabels);
          setAsksToDelete(false);
          dialog.current?.showModal();
        }}
      >
        Edit
      </button>
      <dialog ref={dialog} className="dialog" aria-labelledby={titleId}>
        <form
          className="dialog-body"
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate();
          }}
        >
          <h2 id={titleId}>{run.scenarioTitle}</h2>
          <p className="small muted">Run {run.id}</p>
          <label className="field">
            <span>Name</span>
            <input
              className="input"
              value={labels.name}
              maxLength={runLabelLimits.nameMax}
              onChange={(event) => setLabels({ ...labels, name: event.target.value })}
            />
          </label>
          <label className="field">
            <span>Note</span>
            <textarea
              className="input"
              rows={4}
              value={labels.note}
              maxLength={runLabelLimits.noteMax}
              onChange={(event) => setLabels({ ...labels, note: event.target.value })}
            />
          </label>
          <label className="row">
            <input
              type="checkbox"
              checked={labels.baseline}
              onChange={(event) => setLabels({ ...labels, baseline: event.target.checked })}
            />
            Baseline of its scenario
          </label>
          {error === null ? null : <ErrorNotice error={error} />}
          <div className="row">
            <button type="submit" className="button" disabled={save.isPending}>
              Save
            </button>
            <button type="button" className="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button
              type="button"
              className="button button-danger"
              disabled={remove.isPending}
              onClick={() => (asksToDelete ? remove.mutate() : setAsksToDelete(true))}
            >
              {asksToDelete ? 'Delete for good' : 'Delete…'}
            </button>
          </div>
          {asksToDelete ? (
            <p className="small">The run and its points are deleted. Verdicts from it stay in the history.</p>
          ) : null}
        </form>
      </dialog>
    </>
  );
}
