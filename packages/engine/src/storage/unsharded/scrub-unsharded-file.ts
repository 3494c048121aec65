/**
 * Scrubs the unsharded file in slices of a bounded number of rows, each in a snapshot of its own, while sessions keep committing.
 *
 * No slice sees all messages, so missing rows are found in another way than in one snapshot: in each range of ids, the messages
 * are compared with their index entries, because a damaged page hides a message from the table or the index, not from both. The
 * totals of a queue are compared with the sums over its slices if the queue neither gained nor lost a message meanwhile.
 *
 * Slices do not check free pages, free space within pages, bits of cell offsets that SQLite does not read, and the number of a
 * subscriber's recipient rows, which changes while they are read. The check of a folder does, and so does the scrub of a small
 * file. A dequeue that finds nothing compares the number of recipient rows.
 */
import type { QueueId, Seq } from '../../model/ids.ts';
import { assertSchemaUndamaged } from '../sqlite/file-format.ts';
import { faultsInSnapshot, faultsOf, storedBytes } from '../sqlite/find-faults.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { type DeliveryKey, findDeliveryFaults } from './scrub-deliveries.ts';
import {
  damagedSubscriberFaults,
  findRecipientCountFaults,
  findRecipientFaults,
  type RecipientPlace,
} from './topic-integrity.ts';
import {
  assertNoUnshardedCommitsMissing,
  besideFaults,
  type CountedTotal,
  damagedTotalFaults,
  differences,
  findUnshardedFaults,
  holderAndOutcomeFaults,
  type MessageRow,
  messageColumns,
  messageFaults,
  readCountedTotals,
  type StoredTotal,
  structureFaults,
} from './unsharded-integrity.ts';
import { unshardedSchemaSql } from './unsharded-schema.ts';

export interface SliceBounds {
  /** A file up to this size is one slice. */
  wholeBytesMax: number;
  rowsMax: number;
  /** Bytes of records; the slice ends with the row that reaches the bound. */
  bytesMax: number;
}

/** Deliveries are of messages that are held or were returned: SQLite checks a million of them in some 0.2 s. */
const smallTables = [
  'sqlite_schema',
  'queue_total',
  'holder',
  'session_outcome',
  'topic_subscriber',
  'rate_baseline',
  'delivery',
];

/** A slice takes about as long as one of an instance's partition: 5 to 20 ms. */
const defaultBounds: SliceBounds = { wholeBytesMax: 4 * 1024 ** 2, rowsMax: 4_096, bytesMax: 4 * 1024 ** 2 };

/** Yields the faults of each slice, in sentences. */
export function* scrubUnshardedFile(path: string, bounds = defaultBounds): Generator<string[]> {
  if (storedBytes(path) <= bounds.wholeBytesMax) {
    yield faultsOf(path, () => findUnshardedFaults(path));
    return;
  }
  yield faultsOf(path, () => {
    assertNoUnshardedCommitsMissing(path);
    return [];
  });
  let before: CountedTotal[] = [];
  yield faultsInSnapshot(path, (file) => {
    assertSchemaUndamaged(file, unshardedSchemaSql);
    before = readCountedTotals(file);
    return [...damagedTotalFaults(file), ...besideFaults(file), ...damagedSubscriberFaults(file)];
  });
  for (const table of smallTables)
    yield faultsInSnapshot(path, (file) => structureFaults(file, 'integrity_check', table));
  yield faultsInSnapshot(path, holderAndOutcomeFaults);
  yield* scrubDeliveries(path, bounds);
  yield* scrubRecipients(path, bounds);
  const messages = new MessageScrub(before);
  for (let more = true; more; ) {
    more = false; // also if the file cannot be opened
    yield faultsInSnapshot(path, (file) => {
      const faults = messages.findNext(file, bounds);
      more = !messages.done;
      return faults;
    });
  }
  yield faultsInSnapshot(path, (file) => messages.findDifferences(readCountedTotals(file)));
}

function* scrubDeliveries(path: string, { rowsMax }: SliceBounds): Generator<string[]> {
  for (let after: DeliveryKey | undefined = { queueId: -1, id: 0 }; after !== undefined; ) {
    let end: DeliveryKey | undefined;
    const from: DeliveryKey = after;
    yield faultsInSnapshot(path, (file) => {
      const slice = findDeliveryFaults(file, from, rowsMax);
      end = slice.end;
      return slice.faults;
    });
    after = end;
  }
}

function* scrubRecipients(path: string, { rowsMax }: SliceBounds): Generator<string[]> {
  let after: RecipientPlace | undefined;
  do {
    const from: RecipientPlace | undefined = after;
    after = undefined; // also if the file cannot be opened
    yield faultsInSnapshot(path, (file) => {
      const { faults, end } = findRecipientFaults(file, from, rowsMax);
      after = end;
      return faults;
    });
  } while (after !== undefined);
  for (let afterId: Seq | undefined = 0; afterId !== undefined; ) {
    let endId: Seq | undefined;
    const from: Seq = afterId;
    yield faultsInSnapshot(path, (file) => {
      const slice = findRecipientCountFaults(file, from, rowsMax);
      endId = slice.endId;
      return slice.faults;
    });
    afterId = endId;
  }
}

/** The messages that were read so far. */
class MessageScrub {
  readonly #before: readonly CountedTotal[];
  readonly #stored = new Map<QueueId, StoredTotal>();
  #afterId: Seq = -1;
  /** All were read, or an error has ended it: then no totals are compared. */
  done = false;
  #failed = true;

  constructor(before: readonly CountedTotal[]) {
    this.#before = before;
  }

  /** Damage among the next messages in the order of their ids. */
  findNext(file: SqliteFile, { rowsMax, bytesMax }: SliceBounds): string[] {
    this.done = true; // unless this slice succeeds and is not the last one
    const faults: string[] = [];
    const inTable = new Map<QueueId, number>();
    const from = this.#afterId;
    let end = from;
    let rows = 0;
    let bytes = 0;
    const select = file.prepare(`SELECT ${messageColumns} FROM message NOT INDEXED WHERE id > ? ORDER BY id`);
    // By the key of the entry to the row that it points to.
    const selectByEntry = file
      .prepare('SELECT crc FROM message INDEXED BY message_by_order WHERE queue_id = ? AND id = ?')
      .pluck();
    for (const row of select.iterate(from) as Iterable<MessageRow>) {
      if (row.id <= end) return [...faults, `message ${row.id} of queue ${row.queueId} is not in its place`];
      faults.push(...messageFaults(row));
      if (selectByEntry.get(row.queueId, row.id) !== row.crc)
        faults.push(`the index has no right entry of message ${row.id} of queue ${row.queueId}`);
      inTable.set(row.queueId, (inTable.get(row.queueId) ?? 0) + 1);
      this.#count(row);
      end = row.id;
      rows += 1;
      bytes += row.record.byteLength;
      if (rows === rowsMax || bytes >= bytesMax) {
        this.done = false;
        break;
      }
    }
    const last = this.done ? Number.MAX_SAFE_INTEGER : end;
    faults.push(...indexFaults(file, inTable, { from, last }));
    this.#afterId = end;
    this.#failed = false;
    return faults;
  }

  #count({ queueId, crc }: MessageRow): void {
    let total = this.#stored.get(queueId);
    if (total === undefined) {
      total = { queueId, rows: 0, sum: 0 };
      this.#stored.set(queueId, total);
    }
    total.rows += 1;
    total.sum = (total.sum + crc) % 2 ** 32;
  }

  /** Compares the totals of queues that are as they were before the first slice. */
  findDifferences(now: readonly CountedTotal[]): string[] {
    if (this.#failed) return [];
    const movedBefore = new Map(this.#before.map(({ queueId, moved }) => [queueId, moved]));
    const changed = new Set(
      now.filter(({ queueId, moved }) => movedBefore.get(queueId) !== moved).map(({ queueId }) => queueId),
    );
    const isCompared = ({ queueId }: StoredTotal) => queueId > 0 && !changed.has(queueId);
    return differences(now.filter(isCompared), [...this.#stored.values()].filter(isCompared));
  }
}

/** Whether the index has as many messages in a range of ids as the table, queue by queue. */
function indexFaults(
  file: SqliteFile,
  inTable: ReadonlyMap<QueueId, number>,
  { from, last }: { from: Seq; last: Seq },
): string[] {
  const select = file
    .prepare(
      'SELECT count(*) FROM message INDEXED BY message_by_order WHERE queue_id = ? AND id > ? AND id <= ?',
    )
    .pluck();
  const queueIds = new Set([
    ...inTable.keys(),
    ...(file.prepare('SELECT queue_id FROM queue_total WHERE queue_id > 0').pluck().all() as QueueId[]),
  ]);
  const faults: string[] = [];
  for (const queueId of queueIds) {
    const rows = inTable.get(queueId) ?? 0;
    const indexed = select.get(queueId, from, last) as number;
    if (indexed === rows) continue;
    faults.push(
      `of the messages of queue ${queueId} with ids from ${from + 1} on, ${rows} are in the table and ${indexed} in its index`,
    );
  }
  return faults;
}
