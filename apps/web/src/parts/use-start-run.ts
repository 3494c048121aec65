import type { Scale } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { readMachine, startRun } from '../api/queries.ts';
import { reasonsToAsk } from '../model/machine-words.ts';

interface Asked {
  scenario: string;
  scale: Scale;
}

/**
 * Starts a run and opens its page, or calls `onStarted` with its id instead. `ask` looks at the machine first, and calls `onBusy` in the place of starting if it is
 * busy with something else; `reasons` then say with what.
 */
export function useStartRun(onBusy: () => void, onStarted?: (runId: string) => void) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const started = useMutation({
    mutationFn: ({ scenario, scale }: Asked) => startRun(scenario, scale),
    onSuccess: async ({ id }) => {
      void client.invalidateQueries({ queryKey: ['runs'] });
      if (onStarted === undefined) await navigate({ to: '/runs/$runId', params: { runId: id } });
      else onStarted(id);
    },
  });
  const asked = useMutation({
    mutationFn: async (_run: Asked) => reasonsToAsk(await readMachine()),
    onSuccess: (reasons, run) => {
      if (reasons.length === 0) started.mutate(run);
      else onBusy();
    },
  });
  return {
    ask: (run: Asked) => asked.mutate(run),
    start: (run: Asked) => started.mutate(run),
    reasons: asked.data ?? [],
    isPending: asked.isPending || started.isPending,
    error: asked.error ?? started.error,
  };
}
