/** The waits of a process's sessions and how they spent their time, between two moments. */
import type { SessionTimes, WaitLog, WaitStats } from '@shardlab/engine';
import { timesBetween } from './session-times.ts';
import { threadCpuUs } from './thread-cpu.ts';
import { waitsBetween } from './wait-totals.ts';

export interface SessionWindowResult {
  waits: WaitStats[];
  times: SessionTimes;
  /** CPU of the thread that the sessions are on. */
  threadCpuUs: number;
}

export class SessionWindow {
  readonly #log: WaitLog;
  #from: SessionWindowResult;
  #to: SessionWindowResult;

  /** Opens it. To be called on the thread of the sessions. */
  constructor(log: WaitLog) {
    this.#log = log;
    this.#from = this.#read();
    this.#to = this.#from;
  }

  /** May be called again, which restarts the window. */
  open(): void {
    this.#from = this.#read();
  }

  close(): void {
    this.#to = this.#read();
  }

  /** To be called after `close`. */
  result(): SessionWindowResult {
    const [from, to] = [this.#from, this.#to];
    return {
      waits: waitsBetween(from.waits, to.waits),
      times: timesBetween(from.times, to.times),
      threadCpuUs: to.threadCpuUs - from.threadCpuUs,
    };
  }

  #read(): SessionWindowResult {
    return {
      waits: this.#log.snapshot(),
      times: this.#log.sessionTimes(),
      threadCpuUs: threadCpuUs(),
    };
  }
}
