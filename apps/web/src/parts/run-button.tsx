import type { Scale } from '@shardlab/contract';
import { type ReactNode, useId, useRef } from 'react';
import { ErrorNotice } from './query-states.tsx';
import { useStartRun } from './use-start-run.ts';

/** Starts a run and opens its page, unless `onStarted` says otherwise. If the machine is busy with something else, it asks first. */
export function RunButton(props: {
  scenario: string;
  scale: Scale;
  /** Further classes of the button. */
  kind?: 'button-primary' | 'button-ink' | '';
  disabled?: boolean;
  onStarted?(runId: string): void;
  children: ReactNode;
}) {
  const { scenario, scale, kind = '', disabled = false, onStarted, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const start = useStartRun(() => dialog.current?.showModal(), onStarted);
  const title = useId();
  return (
    <>
      <button
        type="button"
        className={`button ${kind}`.trim()}
        disabled={disabled || start.isPending}
        onClick={() => start.ask({ scenario, scale })}
      >
        {children}
      </button>
      {start.error === null ? null : <ErrorNotice error={start.error} />}
      <dialog ref={dialog} className="dialog" aria-labelledby={title}>
        <div className="dialog-body">
          <h2 id={title}>The machine is busy</h2>
          {start.reasons.map((reason) => (
            <p key={reason}>{reason}</p>
          ))}
          <p>A run would measure that too. Its figures would be lower, and marked as disturbed.</p>
          <div className="row">
            <button
              type="button"
              className="button"
              onClick={() => {
                dialog.current?.close();
                start.start({ scenario, scale });
              }}
            >
              Run anyway
            </button>
            <button type="button" className="button button-ink" onClick={() => dialog.current?.close()}>
              Not now
            </button>
          </div>
        </div>
      </dialog>
    </>
  );
}
