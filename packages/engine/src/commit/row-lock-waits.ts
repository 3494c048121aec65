/**
 * Waits for the application's rows that a branch in doubt has locked. The writer refuses a transaction that writes to such rows
 * (`SQL_LOCKED`) and commits the others of its group; here it waits until the branch has ended, and is sent again.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { registerWaitEvent } from '../api/waits.ts';
import type { Clock, Timers } from '../model/ports.ts';
import type { HolderSlot, RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';

export const rowLockContention = registerWaitEvent({
  name: 'enq: TX - row lock contention',
  class: 'concurrency',
  about: 'a commit or a prepare: a branch in doubt has locked a row that it writes to',
  oneHolderIn: 'instance',
});

export interface RowLockWaitsOptions {
  clock: Clock;
  timers: Timers;
  waits: WaitRecorder;
  /** How long a transaction waits, over all branches that it meets. */
  lockMsMax: number;
  /** Whether the branch with this xid's key has not ended yet. */
  isHeld(branch: string): boolean;
}

export interface LockWaiter {
  time: RecordedTime | undefined;
  /** Key of the global transaction, if the waiter is a branch that is being prepared. */
  transaction?: string;
}

interface Waiting {
  branch: string;
  end: PromiseWithResolvers<void>;
}

export class RowLockWaits {
  readonly #options: RowLockWaitsOptions;
  readonly #waiting = new Set<Waiting>();
  /** The branch that has been waited for longest. */
  readonly #holder: HolderSlot<string>;
  #closed: QueueError | undefined;

  constructor(options: RowLockWaitsOptions) {
    this.#options = options;
    this.#holder = options.waits.openHolderSlot(rowLockContention, (branch) => `branch ${branch}`);
  }

  /**
   * Repeats `attempt` until it meets no locked row. Rejects with `SQL_LOCK_TIMEOUT`, for a branch with `XA_RBDEADLOCK` or
   * `XA_RBTIMEOUT`, with why the instance ended, and as `attempt` does.
   */
  async run<T>(attempt: () => Promise<T>, waiter: LockWaiter): Promise<T> {
    const { clock } = this.#options;
    let startedAtMs: number | undefined;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const branch = lockedBy(error);
        if (branch === undefined) throw error;
        startedAtMs ??= clock.monotonicMs();
        await this.#waitFor(branch, waiter, startedAtMs);
      }
    }
  }

  async #waitFor(branch: string, { time, transaction }: LockWaiter, startedAtMs: number): Promise<void> {
    const { clock, timers, waits, isHeld } = this.#options;
    if (this.#closed !== undefined) throw this.#closed;
    if (!isHeld(branch)) return;
    const { msMax, code } = this.#limitOf(branch, transaction);
    const beganAtMs = clock.monotonicMs();
    const waiting: Waiting = { branch, end: Promise.withResolvers() };
    this.#waiting.add(waiting);
    this.#noteHolder();
    const timer = timers.deadline(Math.max(0, startedAtMs + msMax - beganAtMs), () =>
      waiting.end.reject(new QueueError(code, { details: { branch, msMax } })),
    );
    time?.begin(rowLockContention);
    try {
      await waiting.end.promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(waiting);
      this.#noteHolder();
      if (time === undefined) waits.record(rowLockContention, clock.monotonicMs() - beganAtMs);
      else time.end();
    }
  }

  #noteHolder(): void {
    const [longest] = this.#waiting;
    this.#holder.setHolder(longest?.branch);
  }

  /**
   * Branches keep rows on other instances locked while they wait, so they may wait for each other in a cycle that no instance
   * sees. Global transactions have the same order everywhere, and in every cycle one of them waits for a later one: such waits
   * are kept short.
   */
  #limitOf(branch: string, transaction: string | undefined) {
    const { lockMsMax } = this.#options;
    if (transaction === undefined) return { msMax: lockMsMax, code: 'SQL_LOCK_TIMEOUT' } as const;
    const mayBeDeadlock = transaction <= branch.slice(0, branch.lastIndexOf(':'));
    if (!mayBeDeadlock) return { msMax: lockMsMax, code: 'XA_RBTIMEOUT' } as const;
    return { msMax: Math.min(limits.xaDeadlockMs, lockMsMax), code: 'XA_RBDEADLOCK' } as const;
  }

  /** The branch has ended, or was never prepared. */
  release(branch: string): void {
    for (const waiting of this.#waiting) if (waiting.branch === branch) waiting.end.resolve();
  }

  /** Ends all waits: the instance ends. */
  close(error: QueueError): void {
    this.#closed ??= error;
    for (const { end } of this.#waiting) end.reject(this.#closed);
  }
}

function lockedBy(error: unknown): string | undefined {
  return error instanceof QueueError && error.code === 'SQL_LOCKED'
    ? (error.details.branch as string)
    : undefined;
}
