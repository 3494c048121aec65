import type { Scale, Scenario } from '@shardlab/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { startRun } from '../api/queries.ts';
import { BusyQuestion } from './busy-dialog.tsx';
import { ErrorNotice } from './query-states.tsx';
import { useAskFirst } from './use-ask-first.ts';

/** Starts a run and opens its page, unless `onStarted` says otherwise. If the machine is busy with something else, it asks first. */
export function RunButton(props: {
  /** One of the library by its id, or any other as it is. */
  scenario: string | Scenario;
  scale: Scale;
  /** Further classes of the button. */
  kind?: 'button-primary' | 'button-ink' | '';
  disabled?: boolean;
  onStarted?(runId: string): void;
  children: ReactNode;
}) {
  const { scenario, scale, kind = '', disabled = false, onStarted, children } = props;
  const navigate = useNavigate();
  const client = useQueryClient();
  const start = useAskFirst({
    begin: () => startRun(scenario, scale),
    onBegun(runId) {
      void client.invalidateQueries({ queryKey: ['runs'] });
      if (onStarted === undefined) void navigate({ to: '/runs/$runId', params: { runId } });
      else onStarted(runId);
    },
  });
  return (
    <>
      <button
        type="button"
        className={`button ${kind}`.trim()}
        disabled={disabled || start.isPending}
        onClick={() => start.ask()}
      >
        {children}
      </button>
      {start.error === null ? null : <ErrorNotice error={start.error} />}
      <BusyQuestion {...start.question} />
    </>
  );
}
