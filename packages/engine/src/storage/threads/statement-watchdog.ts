/**
 * Bounds the time and memory of statements that run on this thread inside SQLite and cannot be interrupted: past a bound, the
 * whole process is killed (`watchdog-thread.ts`). A statement that has ended in time is never killed afterwards.
 */
import type { Pid } from '../../model/ids.ts';
import type { CallingThread, InstancePorts, MachineClock } from '../../model/ports.ts';
import { startThread } from './start-thread.ts';

export interface WatchMemory {
  control: SharedArrayBuffer;
  armedAtMs: SharedArrayBuffer;
}

/** The worker data of the watchdog's thread. */
export interface WatchdogData {
  memory: WatchMemory;
  /** The process that started this one: with another parent this one is an orphan. */
  parentPid: Pid;
}

/** The state in which the process is about to be killed: neither idle (even) nor running (odd). */
export const killedState = -1;

/** Words of `control`. */
export const watchWords = { state: 0, ready: 1, asleep: 2, transaction: 3, statement: 4 } as const;

/** A thread that takes longer to start never will. */
const startMsMax = 30_000;

export function watchViews(memory: WatchMemory): { control: Int32Array; armedAtMs: Float64Array } {
  return { control: new Int32Array(memory.control), armedAtMs: new Float64Array(memory.armedAtMs) };
}

export class StatementWatchdog {
  readonly #control: Int32Array;
  readonly #armedAtMs: Float64Array;
  readonly #clock: MachineClock;
  readonly #thread: CallingThread;
  #state = 0;

  constructor({ machineClock, thread }: Pick<InstancePorts, 'machineClock' | 'thread'>, parentPid: Pid) {
    const memory: WatchMemory = {
      control: new SharedArrayBuffer(Object.keys(watchWords).length * Int32Array.BYTES_PER_ELEMENT),
      armedAtMs: new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT),
    };
    const { control, armedAtMs } = watchViews(memory);
    this.#control = control;
    this.#armedAtMs = armedAtMs;
    this.#clock = machineClock;
    this.#thread = thread;
    startThread('watchdog-thread', { memory, parentPid } satisfies WatchdogData);
  }

  /** Blocks this thread until its statements are watched. */
  awaitReady(): void {
    if (this.#thread.wait(this.#control, watchWords.ready, 0, startMsMax) === 'timed-out')
      throw new Error('The watchdog did not start');
  }

  /** Runs what must end in time, for the transaction with this index. Does not return if the process is being killed. */
  guard<Result>(transaction: number, run: (onStatement: (index: number) => void) => Result): Result {
    const control = this.#control;
    this.#armedAtMs[0] = this.#clock.nowMs();
    Atomics.store(control, watchWords.transaction, transaction);
    this.#onStatement(0);
    this.#state = (this.#state + 1) % 2 ** 30;
    const running = this.#state;
    Atomics.store(control, watchWords.state, running);
    // It checks on its own while statements follow one another: waking it each time would cost more than most of them.
    if (Atomics.load(control, watchWords.asleep) === 1) Atomics.notify(control, watchWords.state);
    try {
      return run(this.#onStatement);
    } finally {
      this.#state += 1;
      if (Atomics.compareExchange(control, watchWords.state, running, this.#state) !== running)
        Atomics.wait(control, watchWords.state, killedState);
    }
  }

  readonly #onStatement = (index: number): void => {
    Atomics.store(this.#control, watchWords.statement, index);
  };
}
