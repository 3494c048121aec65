/**
 * Delivers messages of unsharded queues to the calls of dequeuers. A call that finds none waits, and is served in the order of
 * arrival once messages may have come: after a write of this process, when the writes announce it, or when a poll sees that
 * another process has committed.
 */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import type { QueueId } from '../model/ids.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { ValidDequeueOptions } from '../queues/queue-engine.ts';
import { Waiters } from '../queues/waiters.ts';
import type { ClaimedRow } from '../storage/unsharded/unsharded-file.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { UnshardedMessage } from './unsharded-message.ts';
import type { UnshardedDelivery } from './unsharded-transaction.ts';
import type { ClaimingCall, UnshardedWrites } from './unsharded-writes.ts';

export interface UnshardedDispatcherOptions {
  file: LazyUnshardedFile;
  writes: UnshardedWrites;
  waits: WaitRecorder;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

interface ClaimRequest {
  queue: QueueRow;
  max: number;
  onDelivery(delivery: UnshardedDelivery): void;
}

/** Milliseconds between checks for commits of other processes while calls wait. */
const commitPollMs = 2;

export class UnshardedDispatcher {
  readonly #options: UnshardedDispatcherOptions;
  readonly #writes: UnshardedWrites;
  readonly #waiters = new Map<QueueId, Waiters<ClaimRequest>>();
  /** Queues whose waiting calls are being served; true: a message may have arrived since. */
  readonly #serving = new Map<QueueId, boolean>();
  /** How often messages were announced. */
  #readyNotices = 0;
  #poll: Timer | undefined;
  #version = 0;

  constructor(options: UnshardedDispatcherOptions) {
    this.#options = options;
    this.#writes = options.writes;
  }

  /** Polls the file, which has been opened, unless the writes announce what others commit. */
  startPolling(): void {
    if (!this.#writes.announcesReady)
      this.#poll = this.#options.ports.timers.every(commitPollMs, () => this.#pollForCommits());
  }

  #pollForCommits(): void {
    let waiting = false;
    for (const waiters of this.#waiters.values()) waiting ||= waiters.size > 0;
    if (!waiting) return;
    try {
      const version = this.#options.file.opened.dataVersion();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // Serving meets the same error and reports it to the callers that wait.
    }
    this.serveAll();
  }

  async deliver(
    queue: QueueRow,
    options: ValidDequeueOptions,
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]> {
    const waiters = this.#waitersOf(queue.queueId);
    const request = { queue, max: options.max, onDelivery };
    const noticesBefore = this.#readyNotices;
    if (waiters.size === 0 || this.#writes.announcesReady) {
      const rows = await this.#writes.claim(queue.queueId, options.max, options.time);
      if (rows.length > 0) return this.#toMessages(request, rows);
    }
    if (options.waitMs === 0) {
      options.time?.answer();
      return [];
    }
    const messages = waiters.wait(request, options);
    // A message may have arrived between the check and the wait.
    if (!this.#writes.announcesReady || this.#readyNotices !== noticesBefore) void this.#serve(queue.queueId);
    return messages;
  }

  #toMessages({ queue, onDelivery }: ClaimRequest, rows: readonly ClaimedRow[]): Message[] {
    return rows.map((row) => {
      onDelivery({ queueId: queue.queueId, id: row.id, crc: row.crc });
      return new UnshardedMessage(row);
    });
  }

  #waitersOf(queueId: QueueId): Waiters<ClaimRequest> {
    let waiters = this.#waiters.get(queueId);
    if (waiters === undefined) {
      waiters = new Waiters(this.#options.waits, this.#options.ports);
      this.#waiters.set(queueId, waiters);
    }
    return waiters;
  }

  /** The writes announce that these queues have got messages; null: perhaps all. */
  onReady(queueIds: readonly QueueId[] | null): void {
    this.#readyNotices += 1;
    this.serveAll(queueIds ?? this.#waiters.keys());
  }

  /** This process wrote messages that are ready, enqueued or returned. The writes may announce them themselves. */
  onWritten(messages: readonly { queueId: QueueId }[]): void {
    if (!this.#writes.announcesReady) this.serveAll(new Set(messages.map(({ queueId }) => queueId)));
  }

  /** Serves the waiting calls of these queues. */
  serveAll(queueIds: Iterable<QueueId> = this.#waiters.keys()): void {
    for (const queueId of queueIds) void this.#serve(queueId);
  }

  /** Serves waiting calls in order until one gets no message. At most one run at a time for a queue. */
  async #serve(queueId: QueueId): Promise<void> {
    if (this.#serving.has(queueId)) {
      this.#serving.set(queueId, true);
      return;
    }
    do {
      const waiters = this.#waiters.get(queueId);
      if (waiters === undefined || waiters.size === 0) break;
      this.#serving.set(queueId, false);
      try {
        await this.#writes.serve(queueId, this.#claimingCalls(waiters));
      } catch (error) {
        waiters.rejectAll(
          error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error }),
        );
      }
    } while (this.#serving.get(queueId));
    this.#serving.delete(queueId);
  }

  /** The waiting calls in order; those that begin to wait meanwhile too. */
  #claimingCalls(waiters: Waiters<ClaimRequest>): Iterable<ClaimingCall> {
    const toMessages = this.#toMessages.bind(this);
    return {
      *[Symbol.iterator]() {
        for (const waiter of waiters) {
          const { request } = waiter;
          const finish = (rows: readonly ClaimedRow[]) => {
            if (rows.length > 0) return waiter.isWaiting && waiter.finish(toMessages(request, rows));
            waiter.resume();
            return true;
          };
          yield { max: request.max, begin: () => waiter.expect(), finish };
        }
      },
    };
  }

  /** Rejects the calls that wait now. */
  rejectWaiters(error: QueueError): void {
    for (const waiters of this.#waiters.values()) waiters.rejectAll(error);
  }

  /** Rejects the calls that wait for this queue, and those that are about to. Later ones may wait again. */
  closeWaiters(queueId: QueueId, code: QueueErrorCode): void {
    this.#waiters.get(queueId)?.close(code);
    this.#waiters.delete(queueId);
  }

  close(): void {
    this.#poll?.cancel();
    for (const waiters of this.#waiters.values()) waiters.close('INSTANCE_CLOSED');
  }
}
