/**
 * The sessions of this process write through the elected writer of the folder, which this process may be itself. All their
 * requests in one turn of the event loop, and those made while the previous batch is being written, form one batch. There is one
 * unanswered batch at a time, so that only one can be in doubt when the writer ends: it is sent again to the next one, with its
 * number and with all messages that this process holds (`storage/unsharded/write-group.ts`).
 *
 * Claims are sent in separate batches, which are not synced and alternate with the others: a consumer that has got its messages
 * can then commit with the next group. In one batch with the commits, a dequeue would take two syncs and an enqueue one, so
 * consumers would reach only half the rate.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { registerWaitEvent } from '../api/waits.ts';
import { commitWriteMs, logFileSync, logWriteMs, logWrites } from '../model/commit-waits.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { QueueId, TransactionNumber } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Ports, Timer } from '../model/ports.ts';
import { fromStorageFailure } from '../model/storage-failure.ts';
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';
import type { ClaimBounds, HeldMessage, MessageConsumer } from '../storage/unsharded/message-consumer.ts';
import { type ClaimedRow, type UnshardedChange, UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import type { DoneOperation, WriteBatch, WriteOperation } from '../storage/unsharded/write-group.ts';
import { type GroupLink, type GroupLinkOptions, openGroupLink } from './group-link.ts';
import type { WriterMessage } from './group-messages.ts';
import { HeldMessages } from './held-messages.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import type { SharedFileLock } from './shared-file-lock.ts';
import type { ClaimingCall, UnshardedWrites } from './unsharded-writes.ts';
import { writeLock } from './write-lock.ts';

const claimWait = registerWaitEvent({
  name: 'claim',
  class: 'concurrency',
  standsFor: null,
  about: 'a dequeue of a grouped unsharded queue: the group of its claim is written',
});

export interface GroupedWritesOptions {
  dir: string;
  file: LazyUnshardedFile;
  /** The lock of all writers of the file: a group is one write. */
  lock: SharedFileLock;
  ports: Pick<Ports, 'clock' | 'timers'>;
  waits: WaitRecorder;
  /** These queues have got messages that can be claimed; null: perhaps all. */
  onReady(queueIds: readonly QueueId[] | null): void;
}

interface QueuedOperation {
  operation: WriteOperation;
  time: RecordedTime | undefined;
  resolve(answer: DoneOperation): void;
  reject(error: unknown): void;
}

interface SentBatch {
  number: TransactionNumber;
  operations: readonly QueuedOperation[];
}

/** Milliseconds before a retry when a process without the write lock was writing. */
const busyRetryMs = 1;

/** How long closing waits for the answer to the last batch, milliseconds. */
const lastAnswerMsMax = 3_000;

export class GroupedWrites implements UnshardedWrites {
  readonly announcesReady = true;
  groupCount = 0;
  syncCount = 0;
  readonly #options: GroupedWritesOptions;
  readonly #queued: Record<'claims' | 'others', QueuedOperation[]> = { claims: [], others: [] };
  #lastWereClaims = false;
  #sent: SentBatch | undefined;
  #batchCount = 0;
  readonly #held = new HeldMessages();
  #link: GroupLink | undefined;
  #connecting: Promise<void> | undefined;
  /** There was a writer before this one, which may have written more than it answered. */
  #writerChanged = false;
  #failure: unknown;
  #closed = false;
  #onIdle: (() => void) | undefined;

  constructor(options: GroupedWritesOptions) {
    this.#options = options;
  }

  /** Whether this process was elected. */
  get isWriter(): boolean {
    return this.#link?.server !== undefined;
  }

  async open(): Promise<void> {
    await this.#options.lock.run('commit', () => void this.#options.file.opened);
  }

  async commit(change: UnshardedChange, time?: RecordedTime): Promise<IdRun[]> {
    const { ids } = await this.#submit({ kind: 'commit', change }, time);
    this.#held.delete(change.consumed);
    return ids;
  }

  async claim(
    consumer: MessageConsumer,
    { max, bytesMax }: ClaimBounds,
    time?: RecordedTime,
  ): Promise<readonly ClaimedRow[]> {
    return (await this.#submit({ kind: 'claim', consumer, max, bytesMax }, time)).rows;
  }

  async serve(consumer: MessageConsumer, calls: Iterable<ClaimingCall>): Promise<void> {
    for (let left = true; left; ) {
      const asked = [...calls];
      for (const call of asked) call.begin();
      const claims = this.#claimFirst(consumer, asked);
      const releases: Promise<void>[] = [];
      // Whichever claim or release fails, what was claimed for the other calls must reach them: else it stays held.
      for (const [index, claim] of (await Promise.allSettled(claims)).entries()) {
        if (claim.status === 'rejected' || asked[index]!.finish(claim.value)) continue;
        const messages = claim.value.map(({ id, recipient }) => ({
          queueId: consumer.queueId,
          id,
          recipient,
        }));
        releases.push(this.#release(messages, false, 'NORMAL'));
      }
      await Promise.all(releases);
      // If every call got messages there may be more, for calls that arrived in the meantime.
      left = asked.length > 0 && (await Promise.all(claims)).every((rows) => rows.length > 0);
    }
  }

  /** Claims ahead of calls that began later and are not waiting yet. */
  #claimFirst(consumer: MessageConsumer, calls: readonly ClaimBounds[]): Promise<readonly ClaimedRow[]>[] {
    const later = this.#queued.claims.splice(0);
    const claims = calls.map((bounds) => this.claim(consumer, bounds));
    this.#queued.claims.push(...later);
    return claims;
  }

  async release(messages: readonly HeldMessage[], sync: 'FULL' | 'NORMAL'): Promise<void> {
    await this.#release(messages, true, sync);
  }

  async #release(messages: readonly HeldMessage[], seen: boolean, sync: 'FULL' | 'NORMAL'): Promise<void> {
    const plain = messages.map(({ queueId, id, recipient }) => ({ queueId, id, recipient }));
    await this.#submit({ kind: 'release', messages: plain, seen, sync });
    this.#held.delete(plain);
  }

  async run<T>(work: (file: UnshardedFile) => T): Promise<T> {
    const { file, lock, ports } = this.#options;
    const opened = file.opened;
    for (;;) {
      try {
        return await lock.run('commit', () => work(opened));
      } catch (error) {
        if (!UnshardedFile.isBusy(error) || this.#closed) throw error;
        await pause(ports.timers, busyRetryMs);
      }
    }
  }

  async drop(queueId: QueueId): Promise<void> {
    await this.#submit({ kind: 'drop', queueId });
    this.#held.deleteQueue(queueId);
  }

  async forgetOutcomes(sessions: readonly Buffer[]): Promise<void> {
    await this.#submit({ kind: 'forget', sessions });
  }

  /** The elected writer does it for all. */
  async releaseHeldByDeadProcesses(): Promise<number> {
    if (!this.isWriter) return 0;
    const released = await this.#options.lock.run('commit', () =>
      this.#options.file.opened.releaseHeldByDeadProcesses(),
    );
    if (released > 0) this.#link?.server?.announceAll();
    return released;
  }

  #submit(operation: WriteOperation, time?: RecordedTime): Promise<DoneOperation> {
    if (this.#closed) return Promise.reject(new QueueError('INSTANCE_CLOSED'));
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const queue = operation.kind === 'claim' ? this.#queued.claims : this.#queued.others;
      time?.begin(writeLock);
      queue.push({ operation, time, resolve, reject });
      this.#requestWrite();
    });
  }

  #requestWrite(): void {
    if (this.#link === undefined) this.#connect();
    else this.#link.request();
  }

  #connect(): void {
    this.#connecting ??= this.#openLink().finally(() => {
      this.#connecting = undefined;
    });
  }

  async #openLink(): Promise<void> {
    const { dir, ports, file } = this.#options;
    try {
      const options: GroupLinkOptions = {
        dir,
        ports,
        file: file.opened,
        writeLock: this.#options.lock,
        isWanted: () => !this.#closed,
        take: (isRemote) => this.#takeBatch(isRemote),
        onMessage: (message) => this.#onMessage(message),
        onFailed: (error) => this.#onFailed(error),
        onLost: () => this.#onLost(),
      };
      const link = await openGroupLink(options);
      if (this.#closed) {
        link?.close();
        return;
      }
      this.#link = link;
    } catch (error) {
      this.#rejectAll(error);
      return;
    }
    this.#options.onReady(null); // what the writer before announced may have been lost
    if (this.#queuedCount > 0 || this.#sent !== undefined) this.#link?.request();
  }

  /** Takes the operations to be written next; undefined if there are none, or if a batch is unanswered. */
  #takeBatch(isRemote: boolean): WriteBatch | undefined {
    const resent = this.#writerChanged && this.#sent !== undefined;
    if (this.#sent !== undefined && !resent) return undefined;
    const operations = this.#sent?.operations ?? this.#takeQueued();
    if (operations.length === 0) return undefined;
    if (this.#sent === undefined) {
      this.#batchCount += 1;
      this.#sent = { number: this.#batchCount, operations };
    }
    const batch: WriteBatch = {
      holder: this.#options.file.opened.holder,
      number: this.#sent.number,
      operations: operations.map(({ operation }) => operation),
      isRemote,
      resent,
    };
    if (this.#writerChanged) batch.onlyHeld = this.#held.all();
    this.#writerChanged = false;
    return batch;
  }

  get #queuedCount(): number {
    return this.#queued.claims.length + this.#queued.others.length;
  }

  #takeQueued(): QueuedOperation[] {
    const { claims, others } = this.#queued;
    this.#lastWereClaims = claims.length > 0 && !(this.#lastWereClaims && others.length > 0);
    return this.#lastWereClaims ? claims.splice(0) : others.splice(0, countThatFits(others));
  }

  #onMessage({ answer, readyQueues }: WriterMessage): void {
    if (answer !== undefined && answer.number === this.#sent?.number) {
      const { operations } = this.#sent;
      this.#sent = undefined;
      if (operations.some(({ operation }) => operation.kind === 'commit')) {
        this.groupCount += 1;
        this.#options.waits.add(logWrites);
        this.#options.waits.add(logWriteMs, answer.writeMs);
      }
      if (operations.some(({ operation }) => operation.kind === 'commit' && operation.change.sync === 'FULL'))
        this.syncCount += 1;
      for (const [index, queued] of operations.entries()) {
        endWait(queued, answer.writeMs);
        if (queued.operation.kind === 'commit' && queued.time !== undefined)
          this.#options.waits.add(commitWriteMs, answer.writeMs);
        const result = answer.answers[index]!;
        if (result.failure !== undefined) queued.reject(fromStorageFailure(result.failure));
        else {
          const { operation } = queued;
          if (operation.kind === 'claim') this.#held.add(operation.consumer, result.rows);
          queued.resolve(result);
        }
      }
      if (this.#queuedCount > 0) this.#link?.request();
      else this.#onIdle?.();
    }
    if (readyQueues === null || readyQueues.length > 0) this.#options.onReady(readyQueues);
  }

  #onLost(): void {
    this.#link = undefined;
    this.#writerChanged = true;
    if (this.#closed) this.#rejectAll(new QueueError('INSTANCE_CLOSED'));
    else this.#connect(); // at once: the messages that the dead process held must be released
  }

  /** This process was the writer. */
  #onFailed(error: unknown): void {
    if (error instanceof QueueError && error.code === 'INSTANCE_FAILED') {
      this.#failure = error;
      this.#link = undefined;
    }
    this.#rejectAll(error);
  }

  #rejectAll(error: unknown): void {
    const rejected = [...(this.#sent?.operations ?? []), ...this.#takeAllQueued()];
    this.#sent = undefined;
    for (const { time, reject } of rejected) {
      time?.end();
      reject(error);
    }
    this.#onIdle?.();
  }

  #takeAllQueued(): QueuedOperation[] {
    return [...this.#queued.claims.splice(0), ...this.#queued.others.splice(0)];
  }

  async close(sessions: readonly Buffer[]): Promise<void> {
    this.#closed = true;
    const closed = new QueueError('INSTANCE_CLOSED');
    for (const { time, reject } of this.#takeAllQueued()) {
      time?.end();
      reject(closed);
    }
    await this.#connecting;
    if (this.#sent !== undefined) await this.#answered();
    this.#link?.close();
    try {
      await this.#options.file.closeUnder(this.#options.lock, sessions);
    } finally {
      await this.#options.lock.close();
    }
  }

  /** The holder must not end while its batch may still be written. */
  async #answered(): Promise<void> {
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      timer = this.#options.ports.timers.deadline(lastAnswerMsMax, resolve);
    });
    timer?.cancel();
    this.#rejectAll(new QueueError('INSTANCE_CLOSED'));
  }
}

/** The wait for the group is one for other sessions; from then on it is that of the group itself. */
function endWait({ operation, time }: QueuedOperation, writeMs: number): void {
  time?.reassign(operation.kind === 'commit' ? logFileSync : claimWait, writeMs);
  time?.end();
}

/** How many of the operations, in order, one group takes. */
function countThatFits(queued: readonly QueuedOperation[]): number {
  let bytes = 0;
  let count = 0;
  for (; count < queued.length && bytes < limits.groupBytesMax; count += 1) {
    const { operation } = queued[count]!;
    if (operation.kind !== 'commit') continue;
    for (const { record } of operation.change.enqueued) bytes += record.byteLength;
  }
  return count;
}
