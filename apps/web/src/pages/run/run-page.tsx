import type { Tick } from '@shardlab/contract';
import { pointKey } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { runQuery } from '../../api/queries.ts';
import type { FollowedRun } from '../../model/run-state.ts';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { TimeCursor } from '../../parts/time-cursor.ts';
import { useProgram } from '../../parts/use-program.ts';
import { useRunStream } from '../../parts/use-run-stream.ts';
import { useTitle } from '../../parts/use-title.ts';
import { RunClaims } from './run-claims.tsx';
import { RunDetails } from './run-details.tsx';
import { RunHeader } from './run-header.tsx';
import { RunOverTime } from './run-over-time.tsx';
import { RunScaling } from './run-scaling.tsx';
import type { RunSearch } from './run-search.ts';
import { RunTopology } from './run-topology.tsx';
import { useTimeView } from './use-time-view.ts';

/** Delay before the stream of a known run is requested again after the server refused it. */
const reconnectMs = 2_000;

/** One run, live or recorded. Both use the event stream, which for a recorded run ends at once. */
export function RunPage() {
  const { runId } = useParams({ from: '/runs/$runId' });
  const stream = useRunStream(runId);
  const { followed, connection } = useSyncExternalStore(stream.subscribe, stream.getState);
  useTitle(followed?.run.scenario.title ?? 'Run');
  // A refused stream gives no reason, so ask for the run itself: its answer has the error.
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
      {error === null ? <Loading name="the run" /> : <ErrorNotice error={error} />}
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
  const selected = run.points.find((point) => pointKey(point) === search.point) ?? null;
  const isShown = useMemo(
    () => (selected === null ? undefined : (tick: Tick) => pointKey(tick) === pointKey(selected)),
    [selected],
  );
  const view = useTimeView(ticks, isShown);
  const program = useProgram(run.scenario.program);
  if (program === undefined) return <Loading name="the run" />;
  return (
    <>
      <RunHeader run={run} isLost={isLost} />
      <div className="split split-main">
        <RunScaling run={run} program={program} search={search} onSearch={onSearch} />
        <RunTopology run={run} ticks={ticks} isShown={isShown} trials={view.trials} cursor={cursor} />
      </div>
      <RunClaims claims={run.claims} isFinal={run.status === 'done'} />
      <RunOverTime
        run={run}
        ticks={ticks}
        view={view}
        selected={selected}
        cursor={cursor}
        onSearch={onSearch}
      />
      <RunDetails run={run} program={program} search={search} onSearch={onSearch} />
    </>
  );
}
