/**
 * The wait events of one instance, and the time book of its sessions: how often each event occurred, how long it took, and
 * in which state each session is. Times come from one clock, read once at each change of state.
 */

import { type Counter, counters, registerCounter } from '../api/counters.ts';
import {
  type HolderSample,
  type HolderSamples,
  registerWaitEvent,
  type SessionTime,
  type SessionTimes,
  type StateObserver,
  sessionStates,
  type WaitEvent,
  type WaitLog,
  type WaitStats,
  waitBucketCount,
  waitBucketsPerDoubling,
  waitEvents,
  waitMsMin,
} from '../api/waits.ts';
import { HolderSampler } from './holder-sampler.ts';
import type { SessionNumber } from './ids.ts';
import type { Clock } from './ports.ts';

const onCpu = 0;
const runnable = 1;
const unnamed = 2;
/** The state of a session whose program does not mark when it runs: its time is not counted. */
const unmarked = 3;
/** States from this number on are wait events: this number plus the index of the event. */
const firstWait = 4;
/** The registries themselves, which grow. Read once, so that no message's path contains a call for them. */
const events = waitEvents();
const known = counters();

/** An event may come from another copy of the registry, in a program that loads the engine twice: it is known by its name. */
const stateOf = (event: WaitEvent): number =>
  firstWait + (events[event.index] === event ? event.index : registerWaitEvent(event).index);
/** Undefined for a session that is not marked. */
function nameOf(state: number): string | undefined {
  if (state >= firstWait) return events[state - firstWait]!.name;
  return [sessionStates.onCpu, sessionStates.runnable, sessionStates.unnamed][state];
}

/** An event that is registered later makes the arrays grow. */
const spareEvents = 8;

/** Rarely read and often written, so as numbers in arrays: a change of state allocates nothing. */
class Totals {
  /** Milliseconds by state, of all sessions and of waits without one; of completed stays only. */
  ms = new Float64Array(0);
  /** The same of sessions whose programs mark when they run. */
  markedMs = new Float64Array(0);
  waits = new Float64Array(0);
  buckets = new Float64Array(0);
  /** Lifetime of closed sessions that had marked when they run. */
  closedMs = 0;

  constructor() {
    this.makeRoomFor(firstWait + events.length);
  }

  makeRoomFor(state: number): void {
    if (state < this.ms.length) return;
    const states = state + spareEvents;
    this.ms = grown(this.ms, states);
    this.markedMs = grown(this.markedMs, states);
    this.waits = grown(this.waits, states);
    this.buckets = grown(this.buckets, states * waitBucketCount);
  }

  count(state: number, ms: number): void {
    this.waits[state]! += 1;
    const bucket = ms <= waitMsMin ? 0 : Math.ceil(Math.log2(ms / waitMsMin) * waitBucketsPerDoubling);
    this.buckets[state * waitBucketCount + Math.min(bucket, waitBucketCount - 1)]! += 1;
  }
}

function grown(array: Float64Array<ArrayBuffer>, length: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(length);
  larger.set(array);
  return larger;
}

export class WaitRecorder implements WaitLog {
  readonly #totals = new Totals();
  readonly #sessions = new Set<RecordedTime>();
  readonly #book: Book;
  readonly #emulated: readonly WaitEvent[];
  readonly #slots: HolderSlot<unknown>[] = [];
  #counted = new Float64Array(0);

  /** `emulated` names events that this instance emulates, in addition to those that are always emulated. */
  constructor({
    clock,
    emulated = [],
  }: { clock: Pick<Clock, 'monotonicMs'>; emulated?: readonly WaitEvent[] }) {
    this.#emulated = emulated;
    const [totals, sessions] = [this.#totals, this.#sessions];
    this.#book = { clock, totals, sessions, running: undefined, sampler: undefined };
  }

  record(event: WaitEvent, ms: number): void {
    const state = stateOf(event);
    this.#totals.makeRoomFor(state);
    this.#totals.ms[state]! += ms;
    this.#totals.count(state, ms);
  }

  /** The same of a wait that programs mark themselves if they mark when they run: nothing is counted twice. */
  recordUnlessMarked(event: WaitEvent, ms: number): void {
    for (const { isMarked } of this.#sessions) if (isMarked) return;
    this.record(event, ms);
  }

  add(counter: Counter, amount = 1): void {
    const { index } = known[counter.index] === counter ? counter : registerCounter(counter);
    if (index >= this.#counted.length) this.#counted = grown(this.#counted, index + spareEvents);
    this.#counted[index]! += amount;
  }

  counters(): Record<string, number> {
    return Object.fromEntries(known.map(({ name, index }) => [name, this.#counted[index] ?? 0]));
  }

  /** `number` identifies the session within its instance. */
  openSession(number: SessionNumber = 0): RecordedTime {
    return new RecordedTime(this.#book, number);
  }

  /**
   * Opens a slot for the holder of a resource of which the instance has only one. `idOf` returns the number of the session that
   * holds it, or a phrase for another kind of holder.
   */
  openHolderSlot<T>(event: WaitEvent, idOf: (holder: T) => number | string): HolderSlot<T> {
    const slot = new HolderSlot(this.#book, event, idOf);
    this.#slots.push(slot as HolderSlot<unknown>);
    return slot;
  }

  sampleHolders({ inMs, forMs = Number.POSITIVE_INFINITY }: Parameters<WaitLog['sampleHolders']>[0]) {
    const book = this.#book;
    const fromMs = book.clock.monotonicMs() + inMs;
    const [sessions, slots] = [this.#sessions, this.#slots];
    const sampler = new HolderSampler({ sessions, slots, fromMs, forMs });
    book.sampler = sampler;
    return (): HolderSamples[] => {
      if (book.sampler === sampler) {
        sampler.sample(book.clock.monotonicMs());
        book.sampler = undefined;
      }
      return sampler.report();
    };
  }

  snapshot(): WaitStats[] {
    const { totals, clock } = this.#book;
    const nowMs = clock.monotonicMs();
    totals.makeRoomFor(firstWait + events.length);
    const ms = totals.ms.slice();
    for (const session of this.#sessions) ms[session.state]! += nowMs - session.sinceMs;
    return events.map((event) => {
      const state = stateOf(event);
      return {
        event: event.name,
        class: event.class,
        emulated: event.emulated || this.#emulated.includes(event),
        waits: totals.waits[state]!,
        totalMs: ms[state]!,
        buckets: [...totals.buckets.subarray(state * waitBucketCount, (state + 1) * waitBucketCount)],
      };
    });
  }

  sessionTimes(): SessionTimes {
    const { totals, clock } = this.#book;
    const nowMs = clock.monotonicMs();
    totals.makeRoomFor(firstWait + events.length);
    const ms = totals.markedMs.slice();
    let elapsedMs = totals.closedMs;
    for (const session of this.#sessions) {
      if (!session.isMarked) continue;
      ms[session.state]! += nowMs - session.sinceMs;
      elapsedMs += nowMs - session.markedAtMs;
    }
    let waitMs = 0;
    let idleMs = 0;
    for (const event of events) {
      if (event.isIdle) idleMs += ms[stateOf(event)]!;
      else waitMs += ms[stateOf(event)]!;
    }
    return {
      elapsedMs,
      cpuMs: ms[onCpu]!,
      waitMs,
      idleMs,
      runnableMs: ms[runnable]!,
      unnamedMs: ms[unnamed]!,
    };
  }
}

interface Book {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly totals: Totals;
  readonly sessions: Set<RecordedTime>;
  /** The session on CPU: a thread runs one at a time. */
  running: RecordedTime | undefined;
  /** Called before any state or holder changes; undefined while sampling is off. */
  sampler: HolderSampler | undefined;
}

/** The holder of the resource that the sessions in a wait event wait for. While sampling is off, a change costs one assignment. */
export class HolderSlot<T> {
  readonly event: string;
  readonly state: number;
  readonly #book: Book;
  readonly #idOf: (holder: T) => number | string;
  #holder: T | undefined;
  /** Known while sampling is on. */
  #sinceMs: number | undefined;

  constructor(book: Book, event: WaitEvent, idOf: (holder: T) => number | string) {
    this.#book = book;
    this.event = event.name;
    this.state = stateOf(event);
    this.#idOf = idOf;
  }

  get holderId(): HolderSample['holder'] {
    return this.#holder === undefined ? null : this.#idOf(this.#holder);
  }

  /** Ends the hold of the former holder. Undefined: nothing is held from now on. */
  setHolder(holder: T | undefined): void {
    if (this.#book.sampler !== undefined) this.#notify(this.#book.sampler, holder);
    this.#holder = holder;
  }

  #notify(sampler: HolderSampler, next: T | undefined): void {
    const nowMs = this.#book.clock.monotonicMs();
    if (nowMs >= sampler.dueAtMs) sampler.sample(nowMs);
    if (this.#holder !== undefined && this.#sinceMs !== undefined)
      sampler.countHold(this, { fromMs: this.#sinceMs, toMs: nowMs });
    this.#sinceMs = next === undefined ? undefined : nowMs;
  }
}

/** The time of one session, as the engine marks it. */
export class RecordedTime implements SessionTime {
  readonly number: SessionNumber;
  readonly #book: Book;
  #state = unmarked;
  #sinceMs = 0;
  #isMarked = false;
  #markedAtMs = 0;
  /** The call under way has its result: the session waits only for its turn on the thread. */
  #isAnswered = false;
  #observer: StateObserver | undefined;

  constructor(book: Book, number: SessionNumber) {
    this.number = number;
    this.#book = book;
    this.#sinceMs = book.clock.monotonicMs();
    book.sessions.add(this);
  }

  get state(): number {
    return this.#state;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get isMarked(): boolean {
    return this.#isMarked;
  }

  get markedAtMs(): number {
    return this.#markedAtMs;
  }

  resume(): void {
    const nowMs = this.#book.clock.monotonicMs();
    if (!this.#isMarked) this.#mark(nowMs);
    this.#isAnswered = false;
    this.#run(nowMs);
  }

  #mark(nowMs: number): void {
    this.#enter(unmarked, nowMs);
    this.#isMarked = true;
    this.#markedAtMs = nowMs;
  }

  #run(nowMs: number): void {
    const { running } = this.#book;
    if (running !== undefined && running !== this) running.#enter(unnamed, nowMs);
    this.#enter(onCpu, nowMs);
    this.#book.running = this;
  }

  suspend<T>(call: T, event?: WaitEvent): T {
    if (this.#state === onCpu) {
      const state = event !== undefined ? stateOf(event) : this.#isAnswered ? runnable : unnamed;
      this.#enter(state, this.#book.clock.monotonicMs());
    }
    return call;
  }

  yield<T>(call: T): T {
    if (this.#state === onCpu) this.#enter(runnable, this.#book.clock.monotonicMs());
    return call;
  }

  begin(event: WaitEvent): void {
    this.#enter(stateOf(event), this.#book.clock.monotonicMs());
  }

  end(): void {
    if (this.#state >= firstWait) this.#endAt(this.#book.clock.monotonicMs());
  }

  #endAt(nowMs: number): void {
    this.#enter(this.#isMarked ? runnable : unmarked, nowMs);
  }

  /** The engine works for the session, which was waiting for its turn: until `begin`, `endWork` or `suspend`. */
  work(): void {
    if (this.#isMarked) this.#run(this.#book.clock.monotonicMs());
    else this.end();
  }

  endWork(): void {
    if (this.#state === onCpu) this.#endAt(this.#book.clock.monotonicMs());
  }

  /** The call under way has its result, though its program has not run yet. */
  answer(): void {
    this.#isAnswered = true;
  }

  /**
   * Counts the last `ms` milliseconds of the wait under way, at most all of it, as a wait of another event. If a snapshot has
   * already counted a part of the wait, one interval can get too little and the next too much; their sum is right.
   */
  reassign(event: WaitEvent, ms: number): void {
    if (this.#state < firstWait) return;
    const { clock, totals } = this.#book;
    const part = Math.min(ms, clock.monotonicMs() - this.#sinceMs);
    const state = stateOf(event);
    totals.makeRoomFor(state);
    totals.ms[state]! += part;
    if (this.#isMarked) totals.markedMs[state]! += part;
    totals.count(state, part);
    this.#observer?.(event.name, this.#sinceMs, this.#sinceMs + part);
    this.#sinceMs += part;
  }

  observe(observer: StateObserver | undefined): void {
    this.#observer = observer;
  }

  close(): void {
    if (!this.#book.sessions.has(this)) return;
    const nowMs = this.#book.clock.monotonicMs();
    this.#enter(unmarked, nowMs);
    this.#book.sessions.delete(this);
    if (this.#isMarked) this.#book.totals.closedMs += nowMs - this.#markedAtMs;
  }

  /** The only way from one state into another, so that no moment is counted twice or not at all. */
  #enter(state: number, nowMs: number): void {
    const { totals, sampler } = this.#book;
    if (sampler !== undefined && nowMs >= sampler.dueAtMs) sampler.sample(nowMs);
    const ms = nowMs - this.#sinceMs;
    const before = this.#state;
    totals.ms[before]! += ms;
    if (this.#isMarked) totals.markedMs[before]! += ms;
    if (before >= firstWait) totals.count(before, ms);
    else if (before === onCpu && this.#book.running === this) this.#book.running = undefined;
    if (this.#observer !== undefined) this.#notify(before, nowMs);
    this.#state = state;
    this.#sinceMs = nowMs;
    totals.makeRoomFor(state);
  }

  #notify(state: number, nowMs: number): void {
    const name = nameOf(state);
    if (name !== undefined) this.#observer!(name, this.#sinceMs, nowMs);
  }
}
