import { numberParam, pointKey, type Tick } from '@shardlab/contract';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { describeCombination } from '../../model/combination-words.ts';
import { bestPoints } from '../../model/run-highlights.ts';
import type { FollowedRun } from '../../model/run-state.ts';
import { SourceBadge } from '../../parts/badges.tsx';
import { TopologyView } from '../../parts/topology-view.tsx';
import { useReducedMotion } from '../../parts/use-reduced-motion.ts';
import { useRunStream } from '../../parts/use-run-stream.ts';

/** Limits on the time between two steps; within them the replay runs at the recorded speed. */
const stepMsMax = 500;
const stepMsMin = 150;

/** Replays the best points of a finished run from its ticks, in a loop. */
export function Replay({ runId, cores }: { runId: string; cores: number }) {
  const stream = useRunStream(runId);
  const { followed } = useSyncExternalStore(stream.subscribe, stream.getState);
  const ticks = useMemo(() => (followed === null ? [] : ticksOfBest(followed)), [followed]);
  const tick = useReplayedTick(ticks);
  if (followed === null || tick === null) return null;
  return (
    <figure className="panel replay" aria-label="Topology, replayed from the newest run">
      <TopologyView
        tick={tick}
        ticks={ticks}
        cores={cores}
        backlogMax={numberParam(tick.params, 'backlogMax')}
      />
      <figcaption className="row small muted">
        <SourceBadge run={followed.run} />
        <span>{describeCombination(tick)}</span>
      </figcaption>
    </figure>
  );
}

/** The ticks of the best points, without their drain; all ticks if the run has no best points. */
function ticksOfBest({ run, ticks }: FollowedRun): readonly Tick[] {
  const best = bestPoints(run);
  if (best === null) return ticks;
  const keys = [pointKey(best.sharded), pointKey(best.unsharded)];
  const bestTicks = ticks.filter((tick) => tick.phase !== 'drain' && keys.includes(pointKey(tick)));
  return bestTicks.length > 0 ? bestTicks : ticks;
}

/** Steps through the ticks. With reduced motion it shows the busiest tick only. */
function useReplayedTick(ticks: readonly Tick[]): Tick | null {
  const reducedMotion = useReducedMotion();
  const [index, setIndex] = useState(0);
  useEffect(() => {
    if (reducedMotion || ticks.length < 2) return;
    const gap = (ticks[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) - (ticks[index]?.atMs ?? 0);
    const wait = Math.min(stepMsMax, Math.max(stepMsMin, gap));
    const timer = setTimeout(() => setIndex((index + 1) % ticks.length), wait);
    return () => clearTimeout(timer);
  }, [ticks, index, reducedMotion]);
  if (reducedMotion) return busiest(ticks);
  return ticks[Math.min(index, ticks.length - 1)] ?? null;
}

function busiest(ticks: readonly Tick[]): Tick | null {
  const rate = (tick: Tick) => tick.instances.reduce((sum, { dequeuePerSec }) => sum + dequeuePerSec, 0);
  return ticks.reduce<Tick | null>(
    (best, tick) => (best === null || rate(tick) > rate(best) ? tick : best),
    null,
  );
}
