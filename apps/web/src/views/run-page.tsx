import type { Tick } from '@shardlab/contract';
import { pointKey } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { runQuery } from '../api/queries.ts';
import type { FollowedRun } from '../model/run-state.ts';
import { CursorTopology } from './cursor-topology.tsx';
import { Failure, Loading } from './page-states.tsx';
import { RunClaims } from './run-claims.tsx';
import { RunDetails } from './run-details.tsx';
import { RunHeader } from './run-header.tsx';
import { RunOverTime } from './run-over-time.tsx';
import { RunScaling } from './run-scaling.tsx';
import type { RunSearch } from './run-search.ts';
import { TimeCursor } from './time-cursor.ts';
import { useRunStream } from './use-run-stream.ts';
import { useTimeView } from './use-time-view.ts';
import { useTitle } from './use-title.ts';

/** Until a stream that the server refused, though it knows the run, is asked for again. */
const reconnectMs = 2_000;

/** One run, live or recorded: the same page, since a recorded run is the same stream already at its end. */
export function RunPage() {
  const { runId } = useParams({ from: '/runs/$runId' });
  const stream = useRunStream(runId);
  const { followed, connection } = useSyncExternalStore(stream.subscribe, stream.getState);
  useTitle(followed?.run.scenario.title ?? 'Run');
  // The stream says nothing about why it was refused; the run's own address does.
  const refused = followed === null && connection !== 'open' && connection !== 'connecting';
  const run = useQuery({ ...runQuery(runId), enabled: refused });
  const isKnown = run.data !== undefined;
  useEffect(() => {
    if (!refused || !isKnown) return;
    const timer = setTimeout(() => stream.reconnect(), reconnectMs);
    return () => clearTimeout(timer);
  }, [refused, isKnown, stream]);
  if (followed !== null) return <RunView followed={followed} isLost={connection === 'lost'} />;
  const error = run.error ?? run.failureReason;
  return (
    <>
      <h1>Run</h1>
      {error === null ? <Loading what="the run" /> : <Failure error={error} />}
    </>
  );
}

function RunView({ followed, isLost }: { followed: FollowedRun; isLost: boolean }) {
  const { run, ticks } = followed;
  const [cursor] = useState(() => new TimeCursor());
  const search = useSearch({ from: '/runs/$runId' });
  const navigate = useNavigate({ from: '/runs/$runId' });
  const onSearch = (change: Partial<Record<keyof RunSearch, string | number | undefined>>) =>
    void navigate({
      search: (before) => ({ ...before, ...change }) as RunSearch,
      replace: true,
      resetScroll: false,
    });
  const chosen = run.points.find((point) => pointKey(point) === search.point) ?? null;
  const shown = useMemo(
    () => (chosen === null ? undefined : (tick: Tick) => pointKey(tick) === pointKey(chosen)),
    [chosen],
  );
  const view = useTimeView(ticks, shown);
  return (
    <>
      <RunHeader run={run} isLost={isLost} />
      <div className="split split-main">
        <RunScaling run={run} search={search} onSearch={onSearch} />
        <CursorTopology run={run} ticks={ticks} shown={shown} trials={view.trials} cursor={cursor} />
      </div>
      <RunClaims claims={run.claims} isFinal={run.status === 'done'} />
      <RunOverTime run={run} ticks={ticks} view={view} chosen={chosen} cursor={cursor} onSearch={onSearch} />
      <RunDetails run={run} search={search} onSearch={onSearch} />
    </>
  );
}
