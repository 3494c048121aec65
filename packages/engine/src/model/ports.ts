/**
 * All inputs of the engine from outside: time, timers, randomness and the identity of processes. They are passed in where an
 * instance is opened, so a simulation runs the same code on its own clock, and one seed gives one run.
 */
import type { Pid } from './ids.ts';

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. It can be set back: for stamps and due times, never for durations. */
  epochMs(): number;
  /** Milliseconds of a clock that cannot be set, with fractions, since an arbitrary moment of this thread. For durations. */
  monotonicMs(): number;
}

/**
 * A monotonic clock that all processes share until the machine restarts. Leases and send times use it, because other processes
 * compare them.
 */
export interface MachineClock {
  /** Milliseconds, with fractions. */
  nowMs(): number;
}

/** CPU and runnable time of a thread since it started. */
export interface ThreadTimes {
  /** Time on a core, ms. */
  cpuMs: number;
  /** Runnable, and waiting for a core: woken and not running yet, or preempted, ms. */
  runnableMs: number;
}

/** The scheduler's times of the thread that opened it. */
export interface ThreadClock {
  /**
   * `runnableMs` is always exact. `cpuMs` may lack up to one clock tick of the current run; with `exact` it does not, at a cost
   * of 5 µs.
   */
  times(options?: { exact?: boolean }): ThreadTimes;
  close(): void;
}

/** What a thread asks of the system about itself. Threads do not share it: it is always of the thread that calls. */
export interface CallingThread {
  /** CPU time so far in its own code and in the kernel, microseconds. */
  cpuUsage(): { user: number; system: number };
  /** Blocks the thread for so many milliseconds. */
  sleep(ms: number): void;
  /** `Atomics.wait`: blocks the thread until another notifies the word, or for so many milliseconds. */
  wait(words: Int32Array, index: number, value: number, ms: number): 'ok' | 'not-equal' | 'timed-out';
}

export interface Timer {
  /** Does nothing once the timer has fired. */
  cancel(): void;
}

export interface Timers {
  /** Calls back once after `ms` milliseconds. Does not keep the process alive. */
  after(ms: number, callback: () => void): Timer;
  /** The same, but keeps the process alive: for a wait that a caller sits in. */
  deadline(ms: number, callback: () => void): Timer;
  /** Calls back every `ms` milliseconds until cancelled. Does not keep the process alive. */
  every(ms: number, callback: () => void): Timer;
  /** Calls back in the next turn of the event loop, after pending I/O. Keeps the process alive. */
  nextTurn(callback: () => void): void;
}

export interface Random {
  /** So many unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

/** Tells a process from a later one with the same pid. */
export interface ProcessIdentity {
  pid: Pid;
  /** Boot and start time of the process, as text. */
  started: string;
}

/** The processes of this machine, as far as hosting an instance needs to know them. */
export interface ProcessTable {
  /** This process. */
  readonly self: ProcessIdentity;
  /** False once the process has ended, even if a later one got its pid. */
  isAlive(target: ProcessIdentity): boolean;
  /** Cheaper than `isAlive`: false is certain, true may be about a later process with the same pid. */
  mayBeAlive(pid: Pid): boolean;
  /** Whether a signal has stopped it (SIGSTOP), as the system reports. False if there is no such process. */
  isStopped(pid: Pid): boolean;
  /** Whether `isAlive` can distinguish this process from a later one with the same pid. */
  hasKnownStart(target: ProcessIdentity): boolean;
}

/** A process that this one started. It ends when its input ends, so that it never outlives this one by long. */
export interface ChildProcess {
  /** Undefined if it could not be started. */
  readonly pid: Pid | undefined;
  /** Sends bytes to its standard input. Does nothing once it has ended. */
  write(bytes: Uint8Array): void;
  /** Sends SIGKILL. */
  kill(): void;
  /** Whether it keeps this process alive, as long as it lives itself. */
  keepAlive(needed: boolean): void;
}

export interface ChildProcessEvents {
  /** Bytes of its standard output. */
  onOutput(bytes: Uint8Array): void;
  /** It has ended, or could not be started; all of its output was passed on before. `reason` is for people. */
  onEnded(reason: string): void;
}

/** Starts processes that run a module of ours. */
export interface ProcessStarter {
  start(module: URL, events: ChildProcessEvents): ChildProcess;
}

export interface Ports {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

/** The ports needed to open an instance in a folder, where each claim names a process and other processes host instances. */
export interface InstancePorts extends Ports {
  readonly machineClock: MachineClock;
  readonly thread: CallingThread;
  readonly processes: ProcessTable & ProcessStarter;
}
