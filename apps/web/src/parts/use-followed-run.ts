import type { RunList } from '@shardlab/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { runQuery } from '../api/queries.ts';
import { RunStream } from '../api/run-stream.ts';
import { type FollowedRun, isFinished } from '../model/run-state.ts';
import { withProgressOf } from '../model/run-under-way.ts';

/** Delay before the stream of a known run is requested again after the server refused it. */
const reconnectMs = 2_000;

/** One run by its event stream, which for a run that has ended is one snapshot. `error` is set if it cannot be read. */
export function useFollowedRun(runId: string): {
  followed: FollowedRun | null;
  error: Error | null;
  /** Follows a run again that had ended and has been resumed. */
  restart(): void;
} {
  const stream = useMemo(() => new RunStream(runId), [runId]);
  const { followed, isRefused } = useSyncExternalStore(stream.subscribe, stream.getState);
  // A refused stream gives no reason, so ask for the run itself: its answer has the error.
  const run = useQuery({ ...runQuery(runId), enabled: isRefused });
  const isKnown = run.data !== undefined;
  useEffect(() => {
    if (!isRefused || !isKnown) return;
    const timer = setInterval(() => stream.reconnect(), reconnectMs);
    return () => clearInterval(timer);
  }, [isRefused, isKnown, stream]);
  useListedProgress(followed);
  const restart = useCallback(() => stream.restart(), [stream]);
  return { followed, error: run.error ?? run.failureReason, restart };
}

/** The lists of runs are polled and so are older than the stream: each gets what the stream says, so that the pill agrees with the page. */
function useListedProgress(followed: FollowedRun | null): void {
  const client = useQueryClient();
  const { id, status, progress } = followed?.run ?? {};
  const wasUnderWay = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (id === undefined || status === undefined || progress === undefined) return;
    client.setQueriesData<RunList>(
      // The pages of the page of runs have another shape, and no followed run is shown beside them.
      { queryKey: ['runs', 'list'], predicate: ({ queryKey }) => queryKey[2] !== 'pages' },
      (list) => (list === undefined ? list : withProgressOf(list, { id, status, progress })),
    );
    if (!isFinished(status)) wasUnderWay.current = id;
    else if (wasUnderWay.current === id) {
      wasUnderWay.current = undefined;
      void client.invalidateQueries({ queryKey: ['runs', 'list'] });
    }
  }, [client, id, status, progress]);
}
