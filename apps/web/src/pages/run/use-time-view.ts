import type { Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { type TimeRange, type TrialSamples, timeRange, timeSamples } from '../../model/time-series.ts';

export interface TimeView {
  range: TimeRange;
  trials: TrialSamples[];
}

/** The time range that the time charts show, and its samples. The topology steps through the same samples. */
export function useTimeView(
  ticks: readonly Tick[],
  isShown: ((tick: Tick) => boolean) | undefined,
): TimeView {
  return useMemo(() => {
    const range = timeRange(ticks, isShown);
    return { range, trials: timeSamples(isShown === undefined ? ticks : ticks.filter(isShown), range) };
  }, [ticks, isShown]);
}
