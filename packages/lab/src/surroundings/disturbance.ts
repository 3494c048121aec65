/** Whether other work disturbed a trial. Pure. */
import { type Disturbance, repeatLimits } from '@shardlab/contract';

/** Sync times are medians in milliseconds; `otherCpuShare` is null if it is unknown. */
export function disturbanceOf(facts: {
  otherCpuShare: number | null;
  startSyncMs: number;
  syncMs: { before: number; after: number };
}): Disturbance {
  const { otherCpuShare, startSyncMs } = facts;
  const syncMs = Math.max(facts.syncMs.before, facts.syncMs.after);
  const { otherCpuShareMax, syncRatioMax, syncSlowerMsMin } = repeatLimits;
  const isDiskBusy = syncMs > syncRatioMax * startSyncMs && syncMs - startSyncMs >= syncSlowerMsMin;
  return {
    otherCpuShare: otherCpuShare === null ? null : rounded(otherCpuShare),
    syncRatio: rounded(syncMs / Math.max(startSyncMs, 0.001)),
    isDisturbed: isDiskBusy || (otherCpuShare ?? 0) > otherCpuShareMax,
  };
}

const rounded = (value: number) => Number(value.toPrecision(3));
