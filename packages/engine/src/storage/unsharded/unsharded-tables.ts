/** The tables of the unsharded file together, and what a commit changes in them. */
import { QueueError } from '../../api/errors.ts';
import type { IdRun } from '../../model/id-runs.ts';
import type { HolderId, InstanceId, QueueId, Seq, TransactionNumber } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { type ClaimedRow, DeliveryTable } from './delivery-table.ts';
import { HolderTable } from './holder-table.ts';
import type { ClaimBounds, HeldMessage, MessageConsumer, MessageKey } from './message-consumer.ts';
import { type EnqueuedRow, MessageTable } from './message-table.ts';
import { type QueueTotal, QueueTotals, type TotalChange } from './queue-total-table.ts';
import { RateBaselines } from './rate-baseline-table.ts';
import { RecentRecords } from './recent-records.ts';
import { TopicTables, type UnneededMessages } from './topic-tables.ts';
import { UnshardedOutcomeTable } from './unsharded-outcome-table.ts';

export interface UnshardedChange {
  enqueued: EnqueuedRow[];
  consumed: MessageKey[];
  sync: 'FULL' | 'NORMAL';
  /** Outcome of a remote session's transaction, stored with the commit. */
  outcome?: { sessionId: Buffer; transactionNumber: TransactionNumber; instance: InstanceId } | undefined;
}

export interface ConsumedMessages {
  holder: HolderId;
  consumed: readonly MessageKey[];
}

/** All methods are called inside a write transaction. */
export class UnshardedTables {
  readonly #file: SqliteFile;
  readonly messages: MessageTable;
  readonly deliveries: DeliveryTable;
  /** Records of messages of queues, which claims need not read; whoever commits may add them. */
  readonly recentRecords = new RecentRecords();
  readonly topics: TopicTables;
  readonly holders: HolderTable;
  readonly rateBaselines: RateBaselines;
  readonly totals: QueueTotals;
  readonly outcomes: UnshardedOutcomeTable;

  constructor(file: SqliteFile, clock: Clock, queueNameOf: (queueId: QueueId) => string | undefined) {
    this.#file = file;
    this.messages = new MessageTable(file);
    this.deliveries = new DeliveryTable(file, this.recentRecords);
    this.topics = new TopicTables(file);
    this.holders = new HolderTable(file);
    this.rateBaselines = new RateBaselines(file, clock, queueNameOf);
    this.totals = new QueueTotals(file);
    this.outcomes = new UnshardedOutcomeTable(file);
  }

  /** Applies one transaction of `holder`; `lastId` is the last id that it may give. Returns the ids that it gave. */
  commit({ enqueued, consumed, outcome }: UnshardedChange, lastId: Seq, holder: HolderId): IdRun[] {
    const firstId = lastId - enqueued.length + 1;
    this.apply(enqueued, [{ holder, consumed }], firstId);
    const runs = idRunsOf(firstId, enqueued.length);
    this.storeOutcome(outcome, runs);
    return runs;
  }

  /**
   * Deletes consumed messages, stores new ones under consecutive ids from `firstId`, and counts both. In this order new
   * messages get pages that are written anyway: a fifth fewer pages of the log. Returns the checksums of the new rows.
   */
  apply(
    enqueued: readonly EnqueuedRow[],
    consumedBy: readonly ConsumedMessages[],
    firstId: Seq,
  ): readonly number[] {
    const changes = new TotalChanges();
    for (const { holder, consumed } of consumedBy) {
      for (const { queueId, crc, recipient } of consumed) {
        if (recipient !== undefined) continue;
        const change = changes.of(queueId);
        change.consumed += 1;
        change.checksumSum -= crc;
      }
      for (const range of consumedRangesOf(consumed)) this.#remove(range, holder);
      this.#removeUnneeded(this.topics.consume(consumed, holder), changes);
    }
    const checksums = this.messages.insert(enqueued, firstId);
    if (enqueued.length > 0) {
      for (const [index, { queueId }] of enqueued.entries()) {
        const change = changes.of(queueId);
        change.enqueued += 1;
        change.checksumSum += checksums[index]!;
      }
      this.#removeUnneeded(this.topics.distribute(enqueued, checksums, firstId), changes);
    }
    this.#count(changes);
    return checksums;
  }

  #count(changes: TotalChanges): void {
    for (const [queueId, change] of changes) {
      this.rateBaselines.advanceBeforeCommit(queueId);
      this.totals.add(queueId, change);
    }
  }

  /** Deletes messages of topics that have no recipient left. */
  #removeUnneeded(unneeded: readonly UnneededMessages[], changes: TotalChanges): void {
    for (const { queueId, firstId, endId, checksumSum } of unneeded) {
      const count = endId - firstId;
      if (this.messages.removeRange(firstId, endId) !== count)
        throw new QueueError('STORAGE_CORRUPT', {
          message: `Of the ${count} messages of topic ${queueId} from ${firstId} on, some cannot be found in ${this.#file.name}`,
          details: { path: this.#file.name, queueId, id: firstId },
        });
      const change = changes.of(queueId);
      change.consumed += count;
      change.checksumSum -= checksumSum;
    }
  }

  /** Removes up to `rowsMax` messages of a subscriber that has ended; true: and the subscriber itself. */
  purgeSubscriber(consumer: MessageConsumer, rowsMax: number): boolean {
    const { isDone, unneeded } = this.topics.purge(consumer, rowsMax);
    const changes = new TotalChanges();
    this.#removeUnneeded(unneeded, changes);
    this.#count(changes);
    return isDone;
  }

  /** Claims ready messages in order for `holder`. */
  claim(consumer: MessageConsumer, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    return consumer.subscriber === 0
      ? this.deliveries.claim(consumer.queueId, bounds, holder)
      : this.topics.recipients.claim(consumer, bounds, holder);
  }

  /** A read: may be called outside of a transaction, like the three below. */
  hasReady({ queueId, subscriber }: MessageConsumer): boolean {
    return subscriber === 0 ? this.deliveries.hasReady(queueId) : this.topics.recipients.hasReady(subscriber);
  }

  countHeld({ queueId, subscriber }: MessageConsumer): number {
    return subscriber === 0
      ? this.deliveries.countHeld(queueId)
      : this.topics.recipients.countHeld(subscriber);
  }

  /** Throws `SUBSCRIBER_NOT_FOUND` for a topic's subscriber that was removed. */
  totalOf(consumer: MessageConsumer): QueueTotal {
    return consumer.subscriber === 0
      ? this.totals.of(consumer.queueId)
      : this.topics.subscribers.totalOf(consumer);
  }

  /** Held by whichever processes; of a topic, for all of its subscribers. */
  countHeldOfQueue(queueId: QueueId): number {
    return this.topics.subscribers
      .ofTopic(queueId)
      .reduce(
        (held, { id }) => held + this.topics.recipients.countHeld(id),
        this.deliveries.countHeld(queueId),
      );
  }

  /** Makes a message of `holder` ready again. One that no consumer has seen (`seen` false) does not count as delivered. */
  release(message: HeldMessage, holder: HolderId, seen = true): void {
    if (message.recipient === undefined) this.deliveries.release(message, holder, seen);
    else this.topics.recipients.release(message.id, message.recipient, holder, seen);
  }

  #remove(range: ConsumedRange, holder: HolderId): void {
    const count = range.endId - range.firstId;
    const held = this.deliveries.removeRange(range, holder);
    if (held === count && this.messages.removeRange(range.firstId, range.endId) === count) return;
    throw new QueueError('STORAGE_FAILED', {
      message: `Of the messages from ${range.firstId} on, ${count} were to be consumed and this process holds ${held}`,
    });
  }

  /** Deletes a queue's rows; of a sealed queue the row with the seal stays. */
  deleteQueue(queueId: QueueId): void {
    this.topics.deleteQueue(queueId);
    this.#file.prepare('DELETE FROM message WHERE queue_id = ?').run(queueId);
    this.#file.prepare('DELETE FROM delivery WHERE queue_id = ?').run(queueId);
    this.#file.prepare('DELETE FROM queue_total WHERE queue_id = ? AND sealed_at IS NULL').run(queueId);
    this.#file
      .prepare('UPDATE queue_total SET consumed = enqueued, checksum_sum = 0 WHERE queue_id = ?')
      .run(queueId);
    this.rateBaselines.delete(queueId);
  }

  /** Reads all deliveries of queues. */
  heldBy(holder: HolderId): HeldMessage[] {
    const ofQueues = this.#file
      .prepare('SELECT queue_id AS queueId, id FROM delivery WHERE holder = ?')
      .all(holder) as HeldMessage[];
    return [...ofQueues, ...this.topics.heldBy(holder)];
  }

  storeOutcome(outcome: UnshardedChange['outcome'], enqueuedIdRuns: readonly IdRun[]): void {
    if (outcome === undefined) return;
    const { sessionId, transactionNumber, instance } = outcome;
    this.outcomes.store(instance, { sessionId, transactionNumber, enqueuedIdRuns });
  }
}

/** Changes of the totals by a commit, by queue. */
class TotalChanges {
  readonly #byQueue = new Map<QueueId, TotalChange>();

  of(queueId: QueueId): TotalChange {
    let change = this.#byQueue.get(queueId);
    if (change === undefined) {
      change = { enqueued: 0, consumed: 0, checksumSum: 0 };
      this.#byQueue.set(queueId, change);
    }
    return change;
  }

  [Symbol.iterator](): Iterator<[QueueId, TotalChange]> {
    return this.#byQueue.entries();
  }
}

/** Empty if nothing was enqueued. */
export function idRunsOf(firstId: Seq, count: number): IdRun[] {
  return count === 0 ? [] : [{ shard: 0, firstSeq: firstId, count }];
}

interface ConsumedRange {
  queueId: QueueId;
  firstId: Seq;
  endId: Seq;
}

/** Joins consecutive ids of one queue into ranges, as they were delivered. Messages of topics are left out. */
function consumedRangesOf(consumed: readonly MessageKey[]): ConsumedRange[] {
  const runs: ConsumedRange[] = [];
  for (const { queueId, id, recipient } of consumed) {
    if (recipient !== undefined) continue;
    const last = runs.at(-1);
    if (last?.queueId === queueId && last.endId === id) last.endId += 1;
    else runs.push({ queueId, firstId: id, endId: id + 1 });
  }
  return runs;
}
