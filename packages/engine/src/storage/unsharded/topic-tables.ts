/** The tables of topics in the unsharded file together: which subscribers get a message, and when no subscriber needs it any more. */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { HolderId, QueueId, Seq, SubscriberId } from '../../model/ids.ts';
import type { SubscriberRow } from '../../model/subscriber-row.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import type { HeldMessage, MessageConsumer, MessageKey, RecipientKey } from './message-consumer.ts';
import type { EnqueuedRow, MessageRouting } from './message-table.ts';
import { type DistributedRun, type RecipientRange, RecipientTable } from './recipient-table.ts';
import { type StoredSubscriber, TopicSubscriberTable } from './topic-subscriber-table.ts';

/** Messages that have no recipients, or none left. */
export interface UnneededMessages {
  queueId: QueueId;
  firstId: Seq;
  endId: Seq;
  /** Sum of their checksums. */
  checksumSum: number;
}

export interface SubscriberCounts extends StoredSubscriber {
  backlog: number;
  held: number;
  /** Id of its oldest ready message. */
  oldestReadyId: Seq | null;
}

/** All methods but `subscribers` are called inside a write transaction. */
export class TopicTables {
  readonly #file: SqliteFile;
  readonly recipients: RecipientTable;
  readonly subscribers: TopicSubscriberTable;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.recipients = new RecipientTable(file);
    this.subscribers = new TopicSubscriberTable(file);
  }

  /**
   * Adds a recipient row for each subscriber of the stored messages. `checksums` are those of the message rows. Returns the
   * messages that have no subscriber. Throws `TX_TOO_LARGE` past `limits.recipientRowsMax`, before it adds the rows that are too
   * many.
   */
  distribute(
    enqueued: readonly EnqueuedRow[],
    checksums: readonly number[],
    firstId: Seq,
  ): UnneededMessages[] {
    const unneeded: UnneededMessages[] = [];
    /** Topics whose subscribers have been checked: nobody else changes them meanwhile. */
    const checked = new Set<QueueId>();
    let rows = 0;
    for (const { run, routing, checksumSum } of runsOf(enqueued, checksums, firstId)) {
      const { queueId, lastId } = run;
      run.among = this.#idsOf(run, routing, checked);
      const messages = lastId - run.firstId + 1;
      const subscribers = this.subscribers.addEnqueued(queueId, { messages, checksumSum }, run.among);
      rows += messages * subscribers;
      assertRecipientRows(rows);
      this.recipients.distribute(run, subscribers);
      if (subscribers > 0) continue;
      unneeded.push({ queueId, firstId: run.firstId, endId: lastId + 1, checksumSum });
    }
    return unneeded;
  }

  /** The ids of the recipients of a run, as JSON; undefined: all subscribers. Creates temporary ones that are missing. */
  #idsOf(
    { queueId, firstId }: DistributedRun,
    routing: MessageRouting,
    checked: Set<QueueId>,
  ): string | undefined {
    const { recipients, createsTemporary } = routing;
    if (recipients === undefined) return undefined;
    const idByName = this.subscribers.idsOf(queueId, recipients);
    const names = JSON.parse(recipients) as string[];
    if (!checked.has(queueId) && names.some((name) => !idByName.has(name))) {
      this.subscribers.ofTopic(queueId); // throws if a name is damaged
      checked.add(queueId);
    }
    if (createsTemporary) {
      for (const [index, name] of names.entries()) {
        if (idByName.has(name)) continue;
        const id = -(firstId * limits.subscribersMax + index); // as many as a message can have recipients: never the same again
        this.subscribers.add(queueId, { id, name, durable: true });
        idByName.set(name, id);
      }
    }
    return JSON.stringify([...idByName.values()]);
  }

  /**
   * Consumes messages that `holder` holds. Returns those that no other subscriber needs. Messages held for a subscriber that has
   * been removed are gone with it.
   */
  consume(consumed: readonly MessageKey[], holder: HolderId): UnneededMessages[] {
    const unneeded: UnneededMessages[] = [];
    for (const { queueId, range, keys, checksumSum } of rangesOf(consumed)) {
      const consumer = { queueId, subscriber: range.subscriber };
      if (this.subscribers.isGone(consumer)) continue;
      const held = this.recipients.removeRange(range, holder);
      if (held !== keys.length)
        throw new QueueError('STORAGE_FAILED', {
          message: `Of the messages from ${range.firstId} on, ${keys.length} were to be consumed for subscriber ${range.subscriber} and this process holds ${held}`,
        });
      this.subscribers.addConsumed(consumer, { messages: keys.length, checksumSum });
      this.#removeIfTemporaryAndDone(consumer);
      unneeded.push(...this.#countDown(queueId, keys));
    }
    return unneeded;
  }

  #removeIfTemporaryAndDone(consumer: MessageConsumer): void {
    if (consumer.subscriber > 0) return;
    const { enqueued, consumed } = this.subscribers.totalOf(consumer);
    if (enqueued === consumed) this.subscribers.remove(consumer);
  }

  /** `keys`: of neighbouring messages. */
  #countDown(queueId: QueueId, keys: readonly Pick<MessageKey, 'id' | 'crc'>[]): UnneededMessages[] {
    const firstId = keys[0]!.id;
    const unneeded: UnneededMessages[] = [];
    for (const id of this.recipients.countDown(queueId, firstId, firstId + keys.length)) {
      const { crc } = keys[id - firstId]!;
      const last = unneeded.at(-1);
      if (last?.endId === id) {
        last.endId += 1;
        last.checksumSum += crc;
      } else unneeded.push({ queueId, firstId: id, endId: id + 1, checksumSum: crc });
    }
    return unneeded;
  }

  /** Adds subscribers, and ends others, which `purge` then removes. */
  changeSubscribers(queueId: QueueId, added: readonly SubscriberRow[], ended: readonly SubscriberId[]): void {
    for (const subscriber of added) this.subscribers.add(queueId, subscriber);
    for (const subscriber of ended) this.subscribers.end({ queueId, subscriber });
  }

  /**
   * Removes up to `rowsMax` rows of a subscriber that has ended, and with the last of them the subscriber, for which it
   * returns `isDone`. `unneeded`: messages that were for it alone.
   */
  purge(consumer: MessageConsumer, rowsMax: number): { isDone: boolean; unneeded: UnneededMessages[] } {
    const { queueId, subscriber } = consumer;
    const rows = this.#file
      .prepare(
        `SELECT holder, rank, id, crc FROM recipient
         WHERE subscriber = ? AND holder IN (SELECT 0 UNION ALL SELECT holder FROM holder) LIMIT ?`,
      )
      .all(subscriber, rowsMax) as { holder: HolderId; rank: number; id: Seq; crc: number }[];
    const unneeded: UnneededMessages[] = [];
    for (const { holder, rank, id, crc } of rows) {
      this.recipients.removeRange({ subscriber, rank, firstId: id, endId: id + 1 }, holder);
      this.subscribers.addConsumed(consumer, { messages: 1, checksumSum: crc });
      unneeded.push(...this.#countDown(queueId, [{ id, crc }]));
    }
    const isDone = rows.length < rowsMax;
    if (isDone) this.subscribers.remove(consumer);
    return { isDone, unneeded };
  }

  deleteQueue(queueId: QueueId): void {
    for (const sql of [
      `DELETE FROM recipient WHERE subscriber IN (SELECT subscriber FROM topic_subscriber WHERE queue_id = ?)
         AND holder IN (SELECT 0 UNION ALL SELECT holder FROM holder)`,
      'DELETE FROM message_recipients WHERE id IN (SELECT id FROM message WHERE queue_id = ?)',
      'DELETE FROM topic_subscriber WHERE queue_id = ?',
    ])
      this.#file.prepare(sql).run(queueId);
  }

  heldBy(holder: HolderId): HeldMessage[] {
    const rows = this.#file
      .prepare(
        `SELECT queue_id AS queueId, recipient.id, subscriber, rank FROM recipient JOIN message USING (id) WHERE holder = ?`,
      )
      .all(holder) as (RecipientKey & { queueId: QueueId; id: Seq })[];
    return rows.map(({ queueId, id, subscriber, rank }) => ({
      queueId,
      id,
      recipient: { subscriber, rank },
    }));
  }

  /** Counts of a topic's subscribers, or of one of them, without those that have ended. Throws `STORAGE_CORRUPT`. */
  countsOf(queueId: QueueId, only?: SubscriberId): SubscriberCounts[] {
    const live = this.subscribers
      .ofTopic(queueId)
      .filter(({ id, ended }) => !ended && (only === undefined || id === only));
    return live.map((subscriber) => {
      const { enqueued, consumed } = this.subscribers.totalOf({ queueId, subscriber: subscriber.id });
      return {
        ...subscriber,
        backlog: enqueued - consumed,
        held: this.recipients.countHeld(subscriber.id),
        oldestReadyId: this.recipients.oldestReadyId(subscriber.id),
      };
    });
  }
}

function assertRecipientRows(rows: number): void {
  const rowsMax = limits.recipientRowsMax;
  if (rows <= rowsMax) return;
  throw new QueueError('TX_TOO_LARGE', {
    message: `The transaction has ${rows} messages and more for subscribers of topics; ${rowsMax} are allowed`,
    details: { rows, rowsMax },
  });
}

/** Joins messages of topics that follow each other and go to the same subscribers. */
function* runsOf(
  enqueued: readonly EnqueuedRow[],
  checksums: readonly number[],
  firstId: Seq,
): Generator<{ run: DistributedRun; routing: MessageRouting; checksumSum: number }> {
  let current: { run: DistributedRun; routing: MessageRouting; checksumSum: number } | undefined;
  for (const [index, { queueId, routing }] of enqueued.entries()) {
    const id = firstId + index;
    const checksum = checksums[index]!;
    if (current !== undefined && routing !== undefined && current.run.queueId === queueId) {
      const { rank, recipients } = current.routing;
      if (routing.rank === rank && routing.recipients === recipients) {
        current.run.lastId = id;
        current.checksumSum += checksum;
        continue;
      }
    }
    if (current !== undefined) yield current;
    current = routing && {
      run: { queueId, firstId: id, lastId: id, rank: routing.rank, among: undefined },
      routing,
      checksumSum: checksum,
    };
  }
  if (current !== undefined) yield current;
}

interface ConsumedRange {
  queueId: QueueId;
  range: RecipientRange;
  keys: MessageKey[];
  checksumSum: number;
}

/** Joins consecutive ids of one subscriber into ranges, as they were delivered. Messages of queues are left out. */
function rangesOf(consumed: readonly MessageKey[]): ConsumedRange[] {
  const ranges: ConsumedRange[] = [];
  for (const key of consumed) {
    const { queueId, id, crc, recipient } = key;
    if (recipient === undefined) continue;
    const last = ranges.at(-1);
    if (
      last?.range.subscriber === recipient.subscriber &&
      last.range.rank === recipient.rank &&
      last.range.endId === id
    ) {
      last.range.endId += 1;
      last.keys.push(key);
      last.checksumSum += crc;
    } else
      ranges.push({
        queueId,
        range: { ...recipient, firstId: id, endId: id + 1 },
        keys: [key],
        checksumSum: crc,
      });
  }
  return ranges;
}
