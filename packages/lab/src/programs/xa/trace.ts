/**
 * Records the states of one session: summed for its wait table, and as intervals while a transaction is recorded. Elapsed time is
 * measured separately, so that unreported states show as a gap in the sum.
 */
import type { SequenceLane, SessionWaits } from '@shardlab/contract';
import { type SessionTime, type StateObserver, sessionStates } from '@shardlab/engine';

interface Sum {
  waits: number;
  maxMs: number;
  totalMs: number;
}

interface Interval {
  name: string;
  fromMs: number;
  toMs: number;
}

const asIs = (ms: number) => Number(ms.toFixed(3));

export class SessionTrace {
  readonly name: string;
  readonly #sums = new Map<string, Sum>();
  readonly #isEmulated: (event: string) => boolean;
  #followed: SessionTime | undefined;
  #beganMs = 0;
  #endedMs: number | undefined;
  #recorded: { calls: Interval[]; states: Interval[] } | undefined;

  constructor(name: string, isEmulated: (event: string) => boolean) {
    this.name = name;
    this.#isEmulated = isEmulated;
  }

  /** The time that elapses is counted from here. */
  begin(nowMs: number): void {
    this.#beganMs = nowMs;
  }

  /** Ends the summing. Later states do not count. */
  end(nowMs: number): void {
    this.#endedMs = nowMs;
  }

  /**
   * From now on the session uses this session of the engine. The others that it has used also report states, which do not count,
   * because the session is in one state only.
   */
  follow(time: SessionTime): void {
    this.#followed = time;
    time.observe((name, fromMs, toMs) => {
      if (this.#followed === time && this.#endedMs === undefined) this.#onState(name, fromMs, toMs);
    });
  }

  readonly #onState: StateObserver = (name, fromMs, toMs) => {
    const sum = this.#sums.get(name) ?? { waits: 0, maxMs: 0, totalMs: 0 };
    this.#sums.set(name, sum);
    const ms = toMs - fromMs;
    sum.waits += 1;
    sum.totalMs += ms;
    sum.maxMs = Math.max(sum.maxMs, ms);
    this.#recorded?.states.push({ name, fromMs, toMs });
  };

  /** Keeps intervals from now on, until `lane`. */
  record(): void {
    this.#recorded = { calls: [], states: [] };
  }

  onCall(name: string, fromMs: number, toMs: number): void {
    this.#recorded?.calls.push({ name, fromMs, toMs });
  }

  /** Returns the intervals since `record`, with times from `originMs`. Ends the recording. */
  lane(name: string, originMs: number): SequenceLane {
    const { calls, states } = this.#recorded ?? { calls: [], states: [] };
    this.#recorded = undefined;
    return {
      name,
      calls: calls.map((call) => spanOf(call, originMs)),
      states: states
        .filter(({ toMs }) => toMs > originMs)
        .map((state) => ({ ...spanOf(state, originMs), emulated: this.#isEmulated(state.name) })),
    };
  }

  /** The wait table. Call it after `end`. */
  table(): SessionWaits {
    const rows = [...this.#sums]
      .filter(([event]) => event !== sessionStates.onCpu)
      .map(([event, { waits, maxMs, totalMs }]) => ({
        event,
        waits,
        maxMs: asIs(maxMs),
        totalMs: asIs(totalMs),
        emulated: this.#isEmulated(event),
      }));
    return {
      session: this.name,
      elapsedMs: asIs(this.#endedMs! - this.#beganMs),
      cpuMs: asIs(this.#sums.get(sessionStates.onCpu)?.totalMs ?? 0),
      rows: rows.toSorted((a, b) => b.totalMs - a.totalMs),
    };
  }
}

export const spanOf = ({ name, fromMs, toMs }: Interval, originMs: number) => {
  const us = (ms: number) => Number((Math.max(0, ms - originMs) * 1_000).toFixed(1));
  return { name, fromUs: us(fromMs), toUs: us(toMs) };
};
