import type { Scale } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { startRun } from '../api/queries.ts';

/** Starts a run and opens its page. */
export function useStartRun() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ scenario, scale }: { scenario: string; scale: Scale }) => startRun(scenario, scale),
    onSuccess: async ({ id }) => {
      void client.invalidateQueries({ queryKey: ['runs'] });
      await navigate({ to: '/runs/$runId', params: { runId: id } });
    },
  });
}
