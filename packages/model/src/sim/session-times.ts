/**
 * The time of sessions by state. At each moment a session is in exactly one state, so the times of all states add up to
 * sessions × time. States other than running are wait events (`docs/glossary.md`).
 */
export const stateNames = [
  'running',
  'CPU queue',
  'client round trip',
  'log file sync',
  'partition maintenance',
  'buffer busy',
  'global cache',
  'flow control',
  'waiting for messages',
] as const;
export type StateName = (typeof stateNames)[number];

/** States by number, for the hot path. */
export const stateIndex = {
  running: 0,
  cpuQueue: 1,
  roundTrip: 2,
  logFileSync: 3,
  maintenance: 4,
  bufferBusy: 5,
  globalCache: 6,
  flowControl: 7,
  waiting: 8,
} as const;

export class SessionTimes {
  readonly #sessions: number;
  readonly #state: Uint8Array;
  readonly #since: Float64Array;
  readonly #totalUs = new Float64Array(stateNames.length);
  readonly #entered = new Float64Array(stateNames.length);

  constructor(sessions: number) {
    this.#sessions = sessions;
    this.#state = new Uint8Array(sessions);
    this.#since = new Float64Array(sessions);
  }

  /** Jobs that are not sessions have no entry: the system's work shows in the use of its resources. */
  enter(job: number, next: number, now: number): void {
    if (job >= this.#sessions) return;
    const before = this.#state[job]!;
    this.#totalUs[before] = this.#totalUs[before]! + now - this.#since[job]!;
    this.#since[job] = now;
    this.#state[job] = next;
    this.#entered[next] = this.#entered[next]! + 1;
  }

  /** Tells a part of what a session has waited in its present state as time of another. */
  reassign(job: number, to: number, us: number, now: number): void {
    if (job >= this.#sessions) return;
    const part = Math.min(us, now - this.#since[job]!);
    this.#since[job] = this.#since[job]! + part;
    this.#totalUs[to] = this.#totalUs[to]! + part;
    this.#entered[to] = this.#entered[to]! + 1;
  }

  clear(now: number): void {
    this.#totalUs.fill(0);
    this.#entered.fill(0);
    this.#since.fill(now);
  }

  /** Times up to now, including those of present states. */
  read(now: number): { state: StateName; times: number; totalUs: number }[] {
    for (let job = 0; job < this.#sessions; job++) {
      const current = this.#state[job]!;
      this.#totalUs[current] = this.#totalUs[current]! + now - this.#since[job]!;
      this.#since[job] = now;
    }
    return stateNames.map((name, index) => ({
      state: name,
      times: this.#entered[index]!,
      totalUs: this.#totalUs[index]!,
    }));
  }
}
