/**
 * Decides whether a process of a cluster works, is slow or has failed, as another process sees it. Slow is not dead: on a machine
 * with too few cores a process may stand still for seconds, and killing it would only add the work of a recovery to what the
 * machine cannot do already. What counts as dead is a fact about the process, or half a minute without progress.
 *
 * - A thread of each process writes its heartbeat: that the process runs, and for how long its event loop has made no turn.
 * - Time counts only while those who count it run. Neither a suspended machine nor a suspended observer ages anybody, and no clock is
 *   compared with another: a heartbeat is new if it differs from the one before.
 */
import { limits } from '../api/limits.ts';
import type { Pid } from './ids.ts';

/** A sign of life of a process, written every `leaseRenewMs`. */
export interface Heartbeat {
  pid: Pid;
  /** When the process counts as silent, monotonic ms. Different in each heartbeat. */
  expiresAtMs: number;
  /** For how long the event loop has made no turn, ms. */
  turnlessMs: number;
}

/** What an observer knows of a process; each in milliseconds in which the observer ran. */
export interface Signs {
  /** Since the last heartbeat. */
  silentMs: number;
  /** For how long the event loop had made no turn at the last heartbeat. */
  turnlessMs: number;
  /** For how long the system has reported the process as stopped. */
  stoppedMs: number;
}

/**
 * `slow`: no turn of the event loop is known within a lease. `stopped`: by a signal, for about a lease. `hung`: no turn is known
 * within `turnlessMsMax`. Only the last two are failures; a process that is gone needs no signs.
 */
export type Life = 'responsive' | 'slow' | 'stopped' | 'hung';

export function judge(signs: Signs, turnlessMsMax: number): Life {
  if (signs.silentMs >= limits.leaseMs && signs.stoppedMs >= stoppedMsMin) return 'stopped';
  const unresponsiveMs = unresponsiveMsOf(signs);
  if (unresponsiveMs >= turnlessMsMax) return 'hung';
  return unresponsiveMs >= limits.leaseMs ? 'slow' : 'responsive';
}

/** For how long no turn of the event loop is known. */
function unresponsiveMsOf({ silentMs, turnlessMs }: Signs): number {
  return silentMs + turnlessMs;
}

/** A process that missed two heartbeats may be stopped: from then on the system is asked. */
const suspectMs = limits.leaseRenewMs * 2;
/** A process that is stopped and resumed in between has not failed. */
const stoppedMsMin = limits.leaseMs - suspectMs;

const newProcess: Signs = { silentMs: 0, turnlessMs: 0, stoppedMs: 0 };

interface Observed {
  signs: Signs;
  /** Of its last heartbeat; undefined before the first. */
  expiresAtMs: number | undefined;
  /** At the last check. */
  isStopped: boolean;
}

export class FailureDetector {
  readonly #turnlessMsMax: number;
  #known = new Map<Pid, Observed>();
  #lastCheckMs: number | undefined;

  constructor(turnlessMsMax: number = limits.turnlessMsMax) {
    this.#turnlessMsMax = turnlessMsMax;
  }

  /**
   * Records a check at `nowMs`; call it at least every `leaseRenewMs`, since no more is counted at a time. A process that is seen for
   * the first time begins without a blemish. `isStopped` asks the system.
   */
  observe(
    nowMs: number,
    pids: Iterable<Pid>,
    heartbeats: readonly Heartbeat[],
    isStopped: (pid: Pid) => boolean,
  ): void {
    const sinceMs = nowMs - (this.#lastCheckMs ?? nowMs);
    const ranMs = Math.max(0, Math.min(sinceMs, limits.leaseRenewMs));
    this.#lastCheckMs = nowMs;
    const heartbeatOf = new Map(heartbeats.map((heartbeat) => [heartbeat.pid, heartbeat]));
    const known = new Map<Pid, Observed>();
    for (const pid of pids) {
      const before = this.#known.get(pid);
      const heartbeat = heartbeatOf.get(pid);
      if (before === undefined) {
        known.set(pid, { signs: newProcess, expiresAtMs: heartbeat?.expiresAtMs, isStopped: false });
      } else if (heartbeat !== undefined && heartbeat.expiresAtMs !== before.expiresAtMs) {
        const { expiresAtMs, turnlessMs } = heartbeat;
        known.set(pid, { signs: { ...newProcess, turnlessMs }, expiresAtMs, isStopped: false });
      } else {
        const silentMs = before.signs.silentMs + ranMs;
        const stopped = silentMs >= suspectMs && isStopped(pid);
        const stoppedMs = stopped && before.isStopped ? before.signs.stoppedMs + ranMs : 0;
        known.set(pid, { ...before, signs: { ...before.signs, silentMs, stoppedMs }, isStopped: stopped });
      }
    }
    this.#known = known;
  }

  /** Of a process that the last check observed. */
  lifeOf(pid: Pid): Life {
    return judge(this.#known.get(pid)?.signs ?? newProcess, this.#turnlessMsMax);
  }

  /** For how long no turn of its event loop is known, ms. */
  unresponsiveMsOf(pid: Pid): number {
    return unresponsiveMsOf(this.#known.get(pid)?.signs ?? newProcess);
  }

  /** Whether it has missed heartbeats, so that it is worth asking the system whether it still exists. */
  isSuspect(pid: Pid): boolean {
    return (this.#known.get(pid)?.signs.silentMs ?? 0) >= suspectMs;
  }
}

/** How long an event loop has made no turn, counted by a thread beside it, and only while that thread runs itself. */
export class TurnlessTime {
  #turns: number | undefined;
  #countedAtMs = 0;
  #turnlessMs = 0;

  /** Call it every `leaseRenewMs` with the number of turns so far. */
  count(nowMs: number, turns: number): number {
    const sinceMs = Math.min(nowMs - this.#countedAtMs, limits.leaseRenewMs * 2);
    this.#turnlessMs = turns === this.#turns ? this.#turnlessMs + sinceMs : 0;
    this.#turns = turns;
    this.#countedAtMs = nowMs;
    return this.#turnlessMs;
  }
}
