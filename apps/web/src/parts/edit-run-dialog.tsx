import { type RunLabels, runLabelLimits } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deleteRun, labelRun } from '../api/queries.ts';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './query-states.tsx';

const noLabels: RunLabels = { name: '', note: '', baseline: false };

/** Name, note and baseline of a run, and its deletion. */
export function EditRunDialog(props: {
  /** Label of the button that opens it. */
  label: string;
  run: { id: string; title: string; labels?: RunLabels | undefined };
  onSaved?(labels: RunLabels): void;
  onDeleted?(): void;
}) {
  const { label, run, onSaved, onDeleted } = props;
  const [isOpen, setOpen] = useState(false);
  const [labels, setLabels] = useState(run.labels ?? noLabels);
  const [asksToDelete, setAsksToDelete] = useState(false);
  const client = useQueryClient();
  const done = () => {
    setOpen(false);
    void client.invalidateQueries({ queryKey: ['runs'] });
  };
  const save = useMutation({
    mutationFn: () => labelRun(run.id, labels),
    onSuccess(saved) {
      done();
      onSaved?.(saved);
    },
  });
  const remove = useMutation({
    mutationFn: () => deleteRun(run.id),
    onSuccess() {
      done();
      onDeleted?.();
    },
  });
  const error = save.error ?? remove.error;
  return (
    <>
      <button
        type="button"
        className="button button-quiet"
        aria-label={`${label} ${run.labels?.name || run.title}, run ${run.id.slice(0, 8)}`}
        onClick={() => {
          setLabels(run.labels ?? noLabels);
          setAsksToDelete(false);
          save.reset();
          remove.reset();
          setOpen(true);
        }}
      >
        {label}
      </button>
      <Dialog title={run.title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form
          className="dialog-body"
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate();
          }}
        >
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
            <button type="button" className="button" onClick={() => setOpen(false)}>
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
      </Dialog>
    </>
  );
}
