/** The wait events of a run, ranked by the total time waited. */
import type { Point, WaitSummary } from '@shardlab/contract';

export interface TopWait extends Pick<WaitSummary, 'event' | 'class' | 'emulated' | 'waits' | 'totalMs'> {
  system: string;
  /** The highest p99 of any point, since percentiles of several points cannot be combined. */
  p99MsMax: number;
  /** Share of the system's total wait time, 0 to 1; null for an idle wait, which counts for nothing. */
  share: number | null;
}

/** Ordered by system, then by total time, longest first. Events that never occurred are left out. */
export function topWaits(points: readonly Point[]): TopWait[] {
  const byEvent = new Map<string, TopWait>();
  for (const { system, waits } of points)
    for (const wait of waits) {
      if (wait.waits === 0) continue;
      const key = `${system}/${wait.event}`;
      const { event, emulated } = wait;
      const known = byEvent.get(key) ?? {
        system,
        event,
        class: wait.class,
        emulated,
        waits: 0,
        totalMs: 0,
        p99MsMax: 0,
        share: null,
      };
      known.waits += wait.waits;
      known.totalMs += wait.totalMs;
      known.p99MsMax = Math.max(known.p99MsMax, wait.p99Ms);
      byEvent.set(key, known);
    }
  const all = [...byEvent.values()];
  const busy = all.filter((wait) => wait.class !== 'idle');
  for (const wait of busy) {
    const sameSystem = busy.filter((other) => other.system === wait.system);
    const total = sameSystem.reduce((sum, other) => sum + other.totalMs, 0);
    wait.share = total > 0 ? wait.totalMs / total : null;
  }
  return all.sort((a, b) => a.system.localeCompare(b.system) || b.totalMs - a.totalMs);
}
