/** A run that is followed live: the run, its ticks, and how each event changes them. */
import { pointKey, type Run, type RunEvent, type RunStatus, type Tick } from '@shardlab/contract';

export interface FollowedRun {
  run: Run;
  /** Ticks in order of `atMs`. */
  ticks: readonly Tick[];
}

/**
 * Ticks kept in the browser: five minutes at four per second, which is more than a chart has pixels. Beyond it every second one is
 * dropped, over the whole run, so that a page that is left open does not grow: a tick of eleven instances takes 10 kB of its heap.
 */
export const ticksMax = 1_200;

/**
 * The state after an event. It is null until a snapshot arrives, since earlier events have no run to apply to. `state`
 * is not modified; `ticks` is a new array only if it changed.
 */
export function applyRunEvent(state: FollowedRun | null, event: RunEvent): FollowedRun | null {
  if (event.type === 'snapshot') return { run: event.run, ticks: event.ticks };
  if (state === null)
    return event.type === 'end' && event.run !== undefined ? { run: event.run, ticks: [] } : null;
  const { run, ticks } = state;
  switch (event.type) {
    case 'end':
      return { run: event.run ?? run, ticks };
    case 'status':
      return { run: { ...run, status: event.status, error: event.error ?? run.error }, ticks };
    case 'progress':
      return { run: { ...run, progress: event.progress }, ticks };
    case 'tick':
      return { run, ticks: appendTick(ticks, event.tick) };
    case 'point': {
      const key = pointKey(event.point);
      const known = run.points.findIndex((point) => pointKey(point) === key);
      const points = known < 0 ? [...run.points, event.point] : run.points.with(known, event.point);
      return { run: { ...run, points, claims: event.claims }, ticks };
    }
  }
}

/** Drops a tick that is not newer than the last: the server may repeat ticks after a reconnection. */
function appendTick(ticks: readonly Tick[], tick: Tick): readonly Tick[] {
  const last = ticks.at(-1);
  if (last !== undefined && tick.atMs <= last.atMs) return ticks;
  return [...(ticks.length < ticksMax ? ticks : ticks.filter((_, index) => index % 2 === 0)), tick];
}

/** Whether the run has reached a final state. */
export const isFinished = (status: RunStatus): boolean =>
  status === 'done' || status === 'failed' || status === 'cancelled';
