/** Each session writes for itself: every commit and every claim is a transaction of its own, in the order of the write lock. */
import { limits } from '../api/limits.ts';
import { commitWriteMs, logFileSync, logWriteMs, logWrites } from '../model/commit-waits.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { QueueId } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Ports } from '../model/ports.ts';
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';
import {
  type ClaimBounds,
  consumerKey,
  type HeldMessage,
  type MessageConsumer,
} from '../storage/unsharded/message-consumer.ts';
import { type ClaimedRow, type UnshardedChange, UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import type { SharedFileLock, WriteKind } from './shared-file-lock.ts';
import type { ClaimingCall, UnshardedWrites } from './unsharded-writes.ts';
import { writeLock } from './write-lock.ts';

export interface SessionWritesOptions {
  file: LazyUnshardedFile;
  lock: SharedFileLock;
  waits: WaitRecorder;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

/** Milliseconds before a retry when a process without the write lock was writing. */
const busyRetryMs = 1;

export class SessionWrites implements UnshardedWrites {
  readonly announcesReady = false;
  groupCount = 0;
  syncCount = 0;
  readonly #options: SessionWritesOptions;
  /**
   * Consumers whose last claim got as many messages as requested: the next claim can skip the check for ready messages. Nobody
   * tells when a temporary subscriber ends, so that it is emptied when it gets long.
   */
  readonly #filledClaim = new Set<string>();
  #closed = false;

  constructor(options: SessionWritesOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#options.lock.run('commit', () => void this.#options.file.opened);
  }

  /** Runs a write once this process has the lock. */
  async #write<T>(kind: WriteKind, work: (file: UnshardedFile) => T, time?: RecordedTime): Promise<T> {
    const { file, lock, waits, ports } = this.#options;
    const opened = file.opened;
    for (;;) {
      try {
        return await lock.run(kind, () => work(opened), time);
      } catch (error) {
        if (!UnshardedFile.isBusy(error) || this.#closed) throw error;
        const startedAt = ports.clock.monotonicMs();
        time?.begin(writeLock);
        await pause(ports.timers, busyRetryMs);
        if (time === undefined) waits.record(writeLock, ports.clock.monotonicMs() - startedAt);
      }
    }
  }

  /**
   * The wait ends when the write returns, not when the caller continues. Callers of one event-loop turn all continue after the
   * last of their writes, so otherwise each would also count the writes of those after it.
   */
  async commit(change: UnshardedChange, time?: RecordedTime): Promise<IdRun[]> {
    const { waits, ports } = this.#options;
    const runs = await this.#write(
      'commit',
      (file) => {
        time?.begin(logFileSync);
        const startedAtMs = ports.clock.monotonicMs();
        try {
          return file.commit(change);
        } finally {
          const writeMs = ports.clock.monotonicMs() - startedAtMs;
          waits.add(logWrites);
          waits.add(logWriteMs, writeMs);
          if (time !== undefined) waits.add(commitWriteMs, writeMs);
          time?.end();
        }
      },
      time,
    );
    this.groupCount += 1;
    if (change.sync === 'FULL') this.syncCount += 1;
    return runs;
  }

  async claim(
    consumer: MessageConsumer,
    bounds: ClaimBounds,
    time?: RecordedTime,
  ): Promise<readonly ClaimedRow[]> {
    const key = consumerKey(consumer);
    const isLooked = !this.#filledClaim.has(key);
    if (isLooked && !this.#options.file.opened.hasReady(consumer)) {
      time?.answer();
      return [];
    }
    const rows = await this.#write(
      'delivery',
      (file) => {
        time?.work();
        try {
          return file.claim(consumer, bounds);
        } finally {
          time?.endWork();
        }
      },
      time,
    );
    if (rows.length === bounds.max) {
      if (this.#filledClaim.size >= limits.subscribersMax) this.#filledClaim.clear();
      this.#filledClaim.add(key);
    } else this.#filledClaim.delete(key);
    // Only `hasReady` distinguishes an empty queue from one whose messages cannot be found.
    if (rows.length === 0 && !isLooked) this.#options.file.opened.hasReady(consumer);
    return rows;
  }

  async serve(consumer: MessageConsumer, calls: Iterable<ClaimingCall>): Promise<void> {
    if (!this.#options.file.opened.hasReady(consumer)) return;
    // All calls share one turn of the lock, so that no session queues behind every enqueuer for each message.
    await this.#write('delivery', (file) => {
      for (const call of calls) {
        const rows = file.claim(consumer, call);
        if (rows.length === 0) break;
        call.finish(rows);
      }
    });
  }

  async release(messages: readonly HeldMessage[], sync: 'FULL' | 'NORMAL'): Promise<void> {
    await this.#write('commit', (file) => file.release(messages, sync));
  }

  run<T>(work: (file: UnshardedFile) => T): Promise<T> {
    return this.#write('commit', work);
  }

  async drop(queueId: QueueId): Promise<void> {
    await this.#write('commit', (file) => file.dropQueue(queueId));
  }

  async forgetOutcomes(sessions: readonly Buffer[]): Promise<void> {
    await this.#write('commit', (file) => file.deleteOutcomes(sessions));
  }

  releaseHeldByDeadProcesses(): Promise<number> {
    return this.#write('commit', (file) => file.releaseHeldByDeadProcesses());
  }

  async close(sessions: readonly Buffer[]): Promise<void> {
    this.#closed = true;
    try {
      await this.#options.file.closeUnder(this.#options.lock, sessions);
    } finally {
      await this.#options.lock.close();
    }
  }
}
