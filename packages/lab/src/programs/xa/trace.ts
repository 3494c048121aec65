/** What one session did: its states, summed for its wait table, and as intervals while a transaction is recorded. */
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
  #firstMs: number | undefined;
  #lastMs = 0;
  #recorded: { calls: Interval[]; states: Interval[] } | undefined;

  constructor(name: string, isEmulated: (event: string) => boolean) {
    this.name = name;
    this.#isEmulated = isEmulated;
  }

  /** A session may use several of the engine's, one after the other: at another instance too. */
  follow(time: SessionTime): void {
    time.observe(this.#onState);
  }

  readonly #onState: StateObserver = (name, fromMs, toMs) => {
    this.#firstMs ??= fromMs;
    this.#lastMs = toMs;
    const sum = this.#sums.get(name) ?? { waits: 0, maxMs: 0, totalMs: 0 };
    this.#sums.set(name, sum);
    const ms = toMs - fromMs;
    sum.waits += 1;
    sum.totalMs += ms;
    sum.maxMs = Math.max(sum.maxMs, ms);
    this.#recorded?.states.push({ name, fromMs, toMs });
  };

  /** From now on intervals are kept, until `lane`. */
  record(): void {
    this.#recorded = { calls: [], states: [] };
  }

  onCall(name: string, fromMs: number, toMs: number): void {
    this.#recorded?.calls.push({ name, fromMs, toMs });
  }

  /** What was recorded, in times from `originMs`; nothing is kept any more. */
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
      elapsedMs: asIs(this.#lastMs - (this.#firstMs ?? this.#lastMs)),
      cpuMs: asIs(this.#sums.get(sessionStates.onCpu)?.totalMs ?? 0),
      rows: rows.toSorted((a, b) => b.totalMs - a.totalMs),
    };
  }
}

export const spanOf = ({ name, fromMs, toMs }: Interval, originMs: number) => {
  const us = (ms: number) => Number((Math.max(0, ms - originMs) * 1_000).toFixed(1));
  return { name, fromUs: us(fromMs), toUs: us(toMs) };
};
