/**
 * The unsharded queues of one instance: every commit and every delivery writes to the file that all instances share. How
 * they are written differs by kind (`unsharded-writes.ts`), and all else is the same.
 */

import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { QueueKind } from '../api/queue-settings.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import { type OutcomeTag, Slab } from '../commit/staged-transaction.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { HoldNumber, InstanceId, QueueId, SessionNumber } from '../model/ids.ts';
import type { InstancePorts, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';
import type {
  GoneCode,
  MessageReceiver,
  QueueEngine,
  QueueLifecycle,
  ValidDequeueOptions,
  ValidReceiveOptions,
} from '../queues/queue-engine.ts';
import type { DeliveryEnd } from '../queues/retries.ts';
import { TimedHolds } from '../queues/timed-holds.ts';
import { heldKey } from '../storage/unsharded/message-consumer.ts';
import type { MessageRouting } from '../storage/unsharded/message-table.ts';
import type { NamedQueue, UnshardedChange, UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import { GroupedWrites } from './grouped-writes.ts';
import { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { SessionWrites } from './session-writes.ts';
import { UnshardedBrowser } from './unsharded-browser.ts';
import type { UnshardedDelivery } from './unsharded-delivery.ts';
import { UnshardedDispatcher } from './unsharded-dispatcher.ts';
import { UnshardedRetries } from './unsharded-retries.ts';
import { UnshardedStatistics } from './unsharded-statistics.ts';
import { UnshardedTopics } from './unsharded-topics.ts';
import { UnshardedTransaction, type UnshardedTransactionEngine } from './unsharded-transaction.ts';
import type { UnshardedWrites } from './unsharded-writes.ts';
import { idOfHolder, WriteLock, writeLock, writeLockElsewhereMs } from './write-lock.ts';

interface UnshardedEngineOptions {
  kind: Exclude<QueueKind, 'sharded'>;
  dir: string;
  instance: InstanceId;
  waits: WaitRecorder;
  ports: InstancePorts;
  /** Remembers the transactions of remote sessions. */
  outcomes: CommitOutcomes;
  logBytesMax: number;
  /** Queues of the catalog. */
  queues(): readonly NamedQueue[];
  /** Undefined if it is gone. */
  queueById(queueId: QueueId): NamedQueue | undefined;
  /** Created if it is missing; undefined if it cannot be created now. */
  exceptionQueueOf(queue: QueueRow): QueueRow | undefined;
  /** This process can no longer write to the file. */
  onFatal(error: QueueError): void;
}

/** Milliseconds between checks for holds of dead processes. */
const deadHoldsReleaseMs = 1_000;

export class UnshardedEngine
  implements QueueEngine, UnshardedTransactionEngine, MessageReceiver, QueueLifecycle
{
  // Commits, timed holds and dropped queues share what is here: messages to be returned, and queues that are gone.
  readonly transactions = this;
  readonly receiver = this;
  readonly lifecycle = this;
  readonly browser: UnshardedBrowser;
  readonly topics: UnshardedTopics;
  readonly statistics: UnshardedStatistics;
  readonly immediate = undefined;
  readonly streams = undefined;
  readonly pipelines = undefined;
  readonly slab = new Slab();
  readonly holds: TimedHolds<UnshardedDelivery>;
  readonly #options: UnshardedEngineOptions;
  readonly #file: LazyUnshardedFile;
  readonly #writes: UnshardedWrites;
  readonly retries: UnshardedRetries;
  readonly #dispatcher: UnshardedDispatcher;
  #deadHoldsTimer: Timer | undefined;
  #holdNumber: HoldNumber = 0;
  /** Queues that were converted since the instance opened. Of those that were dropped nothing is kept. */
  readonly #converted = new Set<QueueId>();
  /** Deliveries whose return to the queue failed; retried with the check for dead processes. */
  #failedNacks: UnshardedDelivery[] = [];
  #closed = false;

  constructor(options: UnshardedEngineOptions) {
    this.#options = options;
    this.holds = new TimedHolds({
      ports: options.ports,
      onExpired: (holds) => this.#nackInBackground(holds.map((hold) => hold.delivery)),
      onInvariantBroken: (violation) => options.onFatal(violation),
    });
    const { dir, instance, kind, ports, waits } = options;
    const { clock, timers } = ports;
    const file = new LazyUnshardedFile(dir, { ...options, onFailed: options.onFatal }, (opened) =>
      this.#onOpened(opened),
    );
    const isGrouped = kind === 'unsharded-grouped';
    // Sessions wait for their group, of whose time the wait for the lock is a part.
    const onWaited = (ms: number) => (isGrouped ? undefined : waits.record(writeLock, ms));
    const holder = isGrouped ? {} : { holder: waits.openHolderSlot(writeLock, idOfHolder) };
    const onHeldElsewhere = (ms: number) => waits.add(writeLockElsewhereMs, ms);
    const lock = new WriteLock({ dir, ports, onWaited, onHeldElsewhere, ...holder });
    const parts = { dir, file, waits, ports, lock };
    const onReady = (queueIds: readonly QueueId[] | null) => this.#dispatcher.onReady(queueIds);
    const writes = isGrouped ? new GroupedWrites({ ...parts, onReady }) : new SessionWrites(parts);
    this.#file = file;
    this.#writes = writes;
    this.retries = new UnshardedRetries({
      ports,
      commit: (change) => this.commit(change, undefined, undefined),
      readRecord: ({ id }) => file.opened.recordOf(id),
      exceptionQueueOf: options.exceptionQueueOf,
      isWanted: ({ queue, subscriber }) =>
        options.queueById(queue.queueId) !== undefined &&
        (queue.type === 'queue' || this.topics.has(queue, subscriber)),
      release: (deliveries) => this.#releaseInBackground(deliveries),
      onInvariantBroken: (violation) => options.onFatal(violation),
    });
    this.#dispatcher = new UnshardedDispatcher({ file, writes, retries: this.retries, waits, ports });
    this.topics = new UnshardedTopics({
      file,
      writes,
      dispatcher: this.#dispatcher,
      holds: this.holds,
      clock,
    });
    this.browser = new UnshardedBrowser({ file, holds: this.holds, topics: this.topics, timers });
    this.statistics = new UnshardedStatistics({
      instance,
      file,
      clock,
      latenciesOf: (queueId) => this.#dispatcher.latenciesOf(queueId),
    });
  }

  #onOpened(file: UnshardedFile): void {
    const { instance, outcomes, ports } = this.#options;
    outcomes.loadUnsharded(file.outcomes(instance));
    this.#deadHoldsTimer = ports.timers.every(deadHoldsReleaseMs, () => void this.#releaseDeadHolds());
    this.#dispatcher.startPolling();
  }

  async #releaseDeadHolds(): Promise<void> {
    if (this.#closed) return;
    try {
      const stranded = this.#failedNacks;
      this.#failedNacks = [];
      await this.#release(stranded);
      await this.#forgetOutcomes();
      if ((await this.#writes.releaseHeldByDeadProcesses()) > 0) this.#dispatcher.serveAll();
    } catch {
      // The next check tries again.
    }
  }

  /** Deletes the outcomes of remote sessions that were closed, or whose clients have been gone for long. */
  async #forgetOutcomes(): Promise<void> {
    const sessions = this.#options.outcomes.sessionsToForgetInUnshardedFile.splice(0);
    if (sessions.length === 0) return;
    try {
      await this.#writes.forgetOutcomes(sessions);
    } catch (error) {
      this.#options.outcomes.sessionsToForgetInUnshardedFile.push(...sessions);
      throw error;
    }
  }

  /** Opens the file if it exists. */
  async open(): Promise<void> {
    if (this.#file.isExpected) await this.#writes.open();
  }

  /** Loads the outcomes of remote sessions that an earlier process served, if the file exists. */
  recoverOutcomes(): void {
    if (this.#file.isExpected) void this.#file.opened;
  }

  epochMs(): number {
    return this.#options.ports.clock.epochMs();
  }

  beginTransaction(_session: SessionNumber, time: RecordedTime | undefined): UnshardedTransaction {
    return new UnshardedTransaction(this, time);
  }

  async commit(
    change: UnshardedChange,
    tag: OutcomeTag | undefined,
    time: RecordedTime | undefined,
  ): Promise<IdRun[]> {
    this.assertQueuesExist(change);
    const { instance } = this.#options;
    const outcome = tag && {
      sessionId: tag.entry.sessionId,
      transactionNumber: tag.transactionNumber,
      instance,
    };
    const runs = await this.#writes.commit({ ...change, outcome }, time);
    if (tag !== undefined) {
      tag.entry.recordCommit(tag.transactionNumber, runs);
      tag.entry.inUnshardedFile = true;
    }
    this.retries.failures.forget(change.consumed, heldKey);
    this.statistics.addCommit(change, this.#writes);
    this.#dispatcher.onWritten(change.enqueued);
    return runs;
  }

  assertQueuesExist(change: UnshardedChange): void {
    const { queueById } = this.#options;
    const gone = queueIdsOf(change).filter((queueId) => queueById(queueId) === undefined);
    if (gone.length === 0) return;
    // A drop takes precedence: repeating the call cannot succeed.
    throw new QueueError(
      gone.every((queueId) => this.#converted.has(queueId)) ? 'QUEUE_CONVERTED' : 'QUEUE_DROPPED',
    );
  }

  async deliver(
    queue: QueueRow,
    options: ValidDequeueOptions,
    onDelivery: (delivery: UnshardedDelivery, message: Message) => void,
  ): Promise<Message[]> {
    const subscriber = this.topics.subscriberOf(queue, options.subscriber);
    return this.#dispatcher.deliver(queue, subscriber, options, onDelivery);
  }

  routingOf(
    queue: QueueRow,
    message: Pick<NewMessage, 'priority' | 'recipients'>,
  ): MessageRouting | undefined {
    return this.topics.routingOf(queue, message);
  }

  async receive(queue: QueueRow, options: ValidReceiveOptions): Promise<Message[]> {
    const capacity = () => this.holds.assertCapacity();
    return await this.deliver(queue, { ...options, capacity }, (delivery, message) => {
      this.#holdNumber += 1;
      const name = `${delivery.id}.${this.#options.instance}.${message.deliveryCount}.${this.#holdNumber}`;
      message.receipt = this.holds.add({ queue, delivery, name }, options.holdMs);
    });
  }

  async release(queue: QueueRow, receipts: readonly string[], how?: ValidReturn): Promise<void> {
    const holds = this.holds.find(queue, receipts);
    for (const hold of holds) this.holds.release(hold);
    await this.nack(
      holds.map((hold) => hold.delivery),
      how,
    );
  }

  extend(queue: QueueRow, receipts: readonly string[], holdMs: number): void {
    for (const hold of this.holds.find(queue, receipts)) this.holds.extend(hold, holdMs);
  }

  /** Messages are ready at once or after a delay, or move to the exception queue. */
  async nack(deliveries: readonly UnshardedDelivery[], end?: DeliveryEnd): Promise<void> {
    if (!this.#closed) await this.#release(this.retries.end(deliveries, end));
  }

  /** Messages stay held until the write succeeds; a failed one is retried. */
  async #release(deliveries: readonly UnshardedDelivery[]): Promise<void> {
    if (deliveries.length === 0 || this.#closed) return; // closing the file releases all holds
    try {
      // The claim has counted the delivery, without a sync.
      const isDurable = deliveries.some(({ queue }) => queue.durability === 'durable');
      await this.#writes.release(deliveries, isDurable ? 'FULL' : 'NORMAL');
    } catch (error) {
      this.#failedNacks.push(...deliveries);
      throw error;
    }
    this.#dispatcher.onWritten(deliveries);
  }

  #nackInBackground(deliveries: readonly UnshardedDelivery[]): void {
    if (!this.#closed) void this.#releaseInBackground(this.retries.end(deliveries));
  }

  #releaseInBackground(deliveries: readonly UnshardedDelivery[]): Promise<void> {
    return this.#release(deliveries).catch(() => undefined); // kept in `#failedNacks` and retried
  }

  async drop(queue: QueueRow, code: GoneCode): Promise<void> {
    if (code === 'QUEUE_CONVERTED') this.#converted.add(queue.queueId);
    this.#dispatcher.closeWaiters(queue.queueId, code);
    this.holds.dropWhere((hold) => hold.queue.queueId === queue.queueId);
    this.topics.forget(queue);
    await this.#writes.drop(queue.queueId);
  }

  rejectWaiters(error: QueueError): void {
    this.#dispatcher.rejectWaiters(error);
  }

  stopDequeue(queue: QueueRow): void {
    this.#dispatcher.closeWaiters(queue.queueId, 'DEQUEUE_STOPPED');
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#deadHoldsTimer?.cancel();
    this.#dispatcher.close();
    this.retries.close();
    this.holds.close();
    await this.#writes.close(this.#options.outcomes.sessionsToForgetInUnshardedFile);
  }
}

function queueIdsOf({ enqueued, consumed }: UnshardedChange): QueueId[] {
  const queueIds = new Set<QueueId>();
  for (const { queueId } of enqueued) queueIds.add(queueId);
  for (const { queueId } of consumed) queueIds.add(queueId);
  return [...queueIds];
}
