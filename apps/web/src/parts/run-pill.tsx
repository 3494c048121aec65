import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { runsQuery } from '../api/queries.ts';
import { refreshAtEnds } from '../api/refresh-at-ends.ts';
import { formatDuration } from '../model/format.ts';
import { idsUnderWay, runUnderWay } from '../model/run-under-way.ts';
import { useLostSince } from './use-lost-since.ts';

/** More than may wait, so that the active run, the oldest of them, is in the list. */
const listed = 25;

/** The run under way, shown on every page with its progress and a link to it. Empty while there is none. */
export function RunPill() {
  const runs = useQuery(runsQuery(listed));
  const isStale = useLostSince() !== null;
  useRefreshAtEnds(runs.data === undefined ? undefined : idsUnderWay(runs.data.runs));
  const found = runUnderWay(runs.data?.runs ?? []);
  if (found === null) return null;
  const { run, waiting } = found;
  const { done, total, etaMs } = run.progress;
  return (
    <Link
      to="/runs/$runId"
      params={{ runId: run.id }}
      className="run-pill"
      data-stale={isStale ? '' : undefined}
      title={run.scenarioTitle}
      aria-label={`Run under way: ${run.scenarioTitle}, ${done} of ${total} trials${isStale ? ', not answering' : ''}`}
    >
      <span className="run-pill-bar" style={{ width: `${(100 * done) / Math.max(1, total)}%` }} />
      <span className="run-pill-text">
        {done} of {total}
        {isStale ? ', no answer' : etaMs === null ? '' : `, ${formatDuration(etaMs)}`}
        {waiting > 0 ? `, ${waiting} wait` : ''}
      </span>
    </Link>
  );
}

/** Every page has the pill, so the end of a run is noticed on whatever page is open. */
function useRefreshAtEnds(now: readonly string[] | undefined): void {
  const client = useQueryClient();
  const before = useRef<readonly string[]>([]);
  useEffect(() => {
    if (now === undefined) return;
    refreshAtEnds(client, { before: before.current, now });
    before.current = now;
  }, [client, now]);
}
