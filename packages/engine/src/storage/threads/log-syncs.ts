/**
 * Syncs of the redo log: on the session thread while they are short, since handing one to another thread costs two wake-ups, and on a
 * thread of its own otherwise, so that nobody waits for a slow disk but those who commit; there too if clients have work for the session
 * thread meanwhile. One is under way at a time.
 */
import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import { type EmulatedSync, isEmulated } from '../../model/emulated-sync.ts';
import type { Clock } from '../../model/ports.ts';
import type { RedoLog } from '../redo/redo-log.ts';
import { startThread } from './start-thread.ts';

/** Longer syncs are not waited for on the session thread. */
const inlineMsMax = 0.5;
/** Weight of the last sync in the running estimate. */
const weight = 1 / 8;

/** `ms`: what the syncs took, without the way to the thread and back. */
export type SyncReply = { failure: string | null; ms: number };

export class LogSyncs {
  readonly #log: RedoLog;
  readonly #clock: Clock;
  readonly #emulatedSync: EmulatedSync;
  /** Emulated syncs are waited for on the other thread, however long they take. */
  readonly #isEmulated: boolean;
  #worker: Worker | undefined;
  #estimateMs: number;
  #startedAtMs: number | undefined;
  #onSynced: (() => void) | undefined;
  #onFailed: ((error: QueueError) => void) | undefined;

  constructor(log: RedoLog, emulatedSync: EmulatedSync, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#emulatedSync = emulatedSync;
    this.#isEmulated = isEmulated(emulatedSync);
    this.#estimateMs = this.#isEmulated ? Number.POSITIVE_INFINITY : 0;
  }

  /**
   * Syncs everything that is written now. `handsOver`: on the other thread, since this one has work meanwhile. One of the callbacks is
   * called, before it returns if the sync is done on this thread.
   */
  sync(handsOver: boolean, onSynced: () => void, onFailed: (error: QueueError) => void): void {
    const startedAtMs = this.#clock.monotonicMs();
    if (handsOver || this.#estimateMs > inlineMsMax) {
      this.#startedAtMs = startedAtMs;
      this.#onSynced = onSynced;
      this.#onFailed = onFailed;
      this.#thread().postMessage(this.#log.beginSync());
      return;
    }
    try {
      this.#log.sync();
    } catch (error) {
      onFailed(syncFailed(error));
      return;
    }
    this.#learn(this.#clock.monotonicMs() - startedAtMs);
    onSynced();
  }

  #learn(ms: number): void {
    if (!this.#isEmulated) this.#estimateMs += (ms - this.#estimateMs) * weight;
  }

  #thread(): Worker {
    if (this.#worker !== undefined) {
      this.#worker.ref();
      return this.#worker;
    }
    const worker = startThread('sync-thread', { emulatedSync: this.#emulatedSync });
    worker.ref();
    worker.on('message', ({ failure, ms }: SyncReply) => {
      worker.unref();
      this.#startedAtMs = undefined;
      if (failure !== null) {
        this.#onFailed?.(syncFailed(new Error(failure)));
        return;
      }
      this.#log.endSync();
      this.#learn(ms);
      this.#onSynced?.();
    });
    worker.on('error', (error) => this.#onFailed?.(syncFailed(error)));
    this.#worker = worker;
    return worker;
  }

  /** How long the sync under way takes; 0 if there is none. */
  get silentMs(): number {
    return this.#startedAtMs === undefined ? 0 : this.#clock.monotonicMs() - this.#startedAtMs;
  }

  /** Resolves when no sync can follow. */
  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    const worker = this.#worker;
    worker.ref();
    worker.postMessage(null);
    await new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  }
}

function syncFailed(cause: unknown): QueueError {
  const message = `A sync of the redo log failed: ${(cause as Error).message}`;
  return new QueueError('STORAGE_FAILED', { message, cause });
}
