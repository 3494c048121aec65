import { pointKey, type Tick } from '@shardlab/contract';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { bestPoints } from '../model/best-point.ts';
import { plural } from '../model/format.ts';
import type { FollowedRun } from '../model/run-state.ts';
import { SourceBadge } from './badges.tsx';
import { TopologyView } from './topology-view.tsx';
import { useReducedMotion } from './use-reduced-motion.ts';
import { useRunStream } from './use-run-stream.ts';

/** The recorded pace, but no slower than this between two steps. */
const stepMsMax = 500;
const stepMsMin = 150;

/** The best points of a finished run, replayed from its ticks at about the pace of the run, over and over. */
export function Replay({ runId, cores }: { runId: string; cores: number }) {
  const stream = useRunStream(runId);
  const { followed } = useSyncExternalStore(stream.subscribe, stream.getState);
  const ticks = useMemo(() => (followed === null ? [] : ticksOfBest(followed)), [followed]);
  const tick = useReplayedTick(ticks);
  if (followed === null || tick === null) return null;
  const { implementation, params } = tick;
  return (
    <figure className="panel replay" aria-label="Topology, replayed from the newest run">
      <TopologyView
        tick={tick}
        ticks={ticks}
        cores={cores}
        backlogMax={followed.run.scenario.workload.backlogMax}
      />
      <figcaption className="row small muted">
        <SourceBadge run={followed.run} />
        <span>
          {implementation}, {plural(params.instances, 'instance')}, {plural(params.threads, 'thread')}
          {params.roundTripMs > 0 ? `, ${params.roundTripMs} ms round trip` : ''}
        </span>
      </figcaption>
    </figure>
  );
}

/** Ticks of the points that the page's sentence is about, under load; of the whole run where it names none. */
function ticksOfBest({ run, ticks }: FollowedRun): readonly Tick[] {
  const best = bestPoints(run);
  if (best === null) return ticks;
  const keys = [pointKey(best.sharded), pointKey(best.unsharded)];
  const own = ticks.filter((tick) => tick.phase !== 'drain' && keys.includes(pointKey(tick)));
  return own.length > 0 ? own : ticks;
}

/** Walks through the ticks; with reduced motion it stays at the busiest one. */
function useReplayedTick(ticks: readonly Tick[]): Tick | null {
  const still = useReducedMotion();
  const [index, setIndex] = useState(0);
  useEffect(() => {
    if (still || ticks.length < 2) return;
    const gap = (ticks[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) - (ticks[index]?.atMs ?? 0);
    const wait = Math.min(stepMsMax, Math.max(stepMsMin, gap));
    const timer = setTimeout(() => setIndex((index + 1) % ticks.length), wait);
    return () => clearTimeout(timer);
  }, [ticks, index, still]);
  if (still) return busiest(ticks);
  return ticks[Math.min(index, ticks.length - 1)] ?? null;
}

function busiest(ticks: readonly Tick[]): Tick | null {
  const rate = (tick: Tick) => tick.instances.reduce((sum, each) => sum + each.dequeuePerSec, 0);
  return ticks.reduce<Tick | null>(
    (best, tick) => (best === null || rate(tick) > rate(best) ? tick : best),
    null,
  );
}
