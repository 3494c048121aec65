import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { runQuery } from '../api/queries.ts';
import { RunStream } from '../api/run-stream.ts';
import type { FollowedRun } from '../model/run-state.ts';

/** Delay before the stream of a known run is requested again after the server refused it. */
const reconnectMs = 2_000;

/** One run by its event stream, which for a run that has ended is one snapshot. `error`: why there is none. */
export function useFollowedRun(runId: string): {
  followed: FollowedRun | null;
  error: Error | null;
  /** Follows a run again that had ended and goes on. */
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
  const restart = useCallback(() => stream.restart(), [stream]);
  return { followed, error: run.error ?? run.failureReason, restart };
}
