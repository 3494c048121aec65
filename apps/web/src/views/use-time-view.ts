import type { Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { type TimeRange, type TrialSamples, timeRange, timeSamples } from '../model/time-series.ts';

export interface TimeView {
  range: TimeRange;
  trials: TrialSamples[];
}

/** What the time charts and the topology share: the range that is shown, and its samples. */
export function useTimeView(ticks: readonly Tick[], shown: ((tick: Tick) => boolean) | undefined): TimeView {
  return useMemo(() => {
    const range = timeRange(ticks, shown);
    return { range, trials: timeSamples(shown === undefined ? ticks : ticks.filter(shown), range) };
  }, [ticks, shown]);
}
