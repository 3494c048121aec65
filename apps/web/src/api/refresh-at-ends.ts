import type { QueryClient } from '@tanstack/react-query';
import { claimsQuery, measuredWorkloadsQuery } from './queries.ts';

/** The end of a run brings verdicts and measurements: what a page shows of them is asked for again. */
export function refreshAtEnds(
  client: QueryClient,
  underWay: { before: readonly string[]; now: readonly string[] },
): void {
  if (underWay.before.every((id) => underWay.now.includes(id))) return;
  for (const { queryKey } of [claimsQuery, measuredWorkloadsQuery])
    void client.invalidateQueries({ queryKey });
}
