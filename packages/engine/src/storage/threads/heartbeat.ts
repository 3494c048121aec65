/**
 * The heartbeat of a process of a cluster, written by a thread of its own (`heartbeat-thread.ts`): no parser, collector or burst of work
 * on the session thread delays it, nor do the threads that write and read. It says for how long the session thread's event loop has made
 * no turn, so that a process whose loop hangs cannot look well.
 */
import { limits } from '../../api/limits.ts';
import type { InstanceId, Pid } from '../../model/ids.ts';
import type { Timer, Timers } from '../../model/ports.ts';
import { startThread } from './start-thread.ts';

export interface HeartbeatOptions {
  /** Folder of the cluster. */
  dir: string;
  /** Whose own process this is. */
  instance: InstanceId;
  pid: Pid;
}

export interface HeartbeatData extends HeartbeatOptions {
  words: SharedArrayBuffer;
}

/** Words that both threads see. The number of turns may overflow: it only has to change. */
export const heartbeatWords = { turns: 0, ended: 1 } as const;

export class HeartbeatThread {
  readonly #words = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #turnTimer: Timer;

  /** Begins at once. Create it before anything else that takes long. */
  constructor(options: HeartbeatOptions, timers: Pick<Timers, 'every'>) {
    startThread('heartbeat-thread', { ...options, words: this.#words.buffer } satisfies HeartbeatData);
    this.#turnTimer = timers.every(limits.leaseRenewMs, () => {
      Atomics.add(this.#words, heartbeatWords.turns, 1);
    });
  }

  close(): void {
    this.#turnTimer.cancel();
    Atomics.store(this.#words, heartbeatWords.ended, 1);
    Atomics.notify(this.#words, heartbeatWords.ended);
  }
}
