/**
 * The times of dequeue calls and commits as the sessions' programs measure them. On a thread that sessions share, a program learns that
 * its call or commit has ended when the thread turns to it again: at the start of the session's next burst, or when it begins to wait.
 */
import type { Kernel } from './kernel.ts';
import type { Meter } from './meter.ts';

const endings = { none: 0, call: 1, commit: 2 } as const;

export class ProgramTimes {
  readonly #kernel: Kernel;
  readonly #meter: Meter;
  readonly #onSharedThread: boolean;
  /** What has ended of which the program does not know yet, when it began, and of a call: when its messages were sent, and how many. */
  readonly #ended: Uint8Array;
  readonly #beganAt: Float64Array;
  readonly #sentAt: Float64Array;
  readonly #messages: Int32Array;

  constructor(options: { kernel: Kernel; meter: Meter; sessions: number; onSharedThread: boolean }) {
    this.#kernel = options.kernel;
    this.#meter = options.meter;
    this.#onSharedThread = options.onSharedThread;
    this.#ended = new Uint8Array(options.sessions);
    this.#beganAt = new Float64Array(options.sessions);
    this.#sentAt = new Float64Array(options.sessions);
    this.#messages = new Int32Array(options.sessions);
  }

  /** `sentAt`: the mean of its messages. */
  callEnded(job: number, call: { beganAt: number; sentAt: number; messages: number }): void {
    this.#sentAt[job] = call.sentAt;
    this.#messages[job] = call.messages;
    this.#end(job, endings.call, call.beganAt);
  }

  commitEnded(job: number, beganAt: number): void {
    this.#end(job, endings.commit, beganAt);
  }

  #end(job: number, ending: number, beganAt: number): void {
    this.#ended[job] = ending;
    this.#beganAt[job] = beganAt;
    if (!this.#onSharedThread) this.programContinues(job);
  }

  programContinues(job: number): void {
    const { now } = this.#kernel;
    const us = now - this.#beganAt[job]!;
    if (this.#ended[job] === endings.commit) this.#meter.commit.record(us);
    else if (this.#ended[job] === endings.call) {
      this.#meter.dequeueCall.record(us);
      this.#meter.latency.record(now - this.#sentAt[job]!, this.#messages[job]!);
    }
    this.#ended[job] = endings.none;
  }
}
