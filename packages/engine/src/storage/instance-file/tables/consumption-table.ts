/**
 * What is terminal in each partition, as deltas: each group commit adds one row for a partition and subscriber in which it
 * consumed. Rows are merged into one past a bound, so that truncating and recovery stay short.
 */

import { decodeRanges, encodeRanges, mergeRanges } from '../../../model/consumption.ts';
import type { ConsumptionDeltaEntry } from '../../../model/group-message.ts';
import type { GroupNumber, PartitionId, SubscriberId } from '../../../model/ids.ts';
import { consumptionDeltaChecksum } from '../../checksum.ts';
import { columnList, selectList } from '../../sqlite/columns.ts';
import type { SqliteFile, SqliteStatement } from '../../sqlite/open-sqlite.ts';
import type { TableModule } from './table-module.ts';

/** 256 rows for the one consumer of a queue, fewer where many subscribers share a partition. */
const rowsPerSubscriberMax = 256;
const rowsPerPartitionMax = 4_096;
const rowsPerSubscriberMin = 16;

const columns = ['partition', 'subscriber', 'groupNumber', 'ranges', 'crc'] as const;
const insertDeltaSql = `INSERT INTO consumption (${columnList(columns)}) VALUES (?, ?, ?, ?, ?)`;

export const consumptionTable = {
  schemaSql: `
    CREATE TABLE consumption (
      partition INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,   -- 0: the one consumer of a queue
      group_number INTEGER NOT NULL, -- the group commit that wrote the row
      ranges BLOB NOT NULL,
      crc INTEGER NOT NULL,          -- over the columns before it
      PRIMARY KEY (partition, subscriber, group_number)
    ) STRICT, WITHOUT ROWID;`,
  tablesByPartition: ['consumption'],
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM consumption WHERE subscriber = ?').run(subscriber);
  },
} satisfies TableModule;

type RowKey = Pick<ConsumptionDeltaEntry, 'partition' | 'subscriber'>;

export class ConsumptionWriter {
  readonly #file: SqliteFile;
  readonly #insert: SqliteStatement;
  /** Rows by partition and subscriber. */
  readonly #rowCounts = new Map<number, Map<number, number>>();

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#insert = file.prepare(insertDeltaSql);
  }

  /** The number of rows that recovery found. */
  setRowCount({ partition, subscriber }: RowKey, rows: number): void {
    this.#rowCountsOf(partition).set(subscriber, rows);
  }

  forgetPartition(partition: PartitionId): void {
    this.#rowCounts.delete(partition);
  }

  write(key: RowKey, groupNumber: GroupNumber, ranges: Buffer): void {
    this.#insertRow(key, groupNumber, ranges);
    const counts = this.#rowCountsOf(key.partition);
    const count = (counts.get(key.subscriber) ?? 0) + 1;
    const rowsMax = Math.max(
      rowsPerSubscriberMin,
      Math.min(rowsPerSubscriberMax, rowsPerPartitionMax / counts.size),
    );
    if (count >= rowsMax) this.#mergeRows(key, groupNumber);
    counts.set(key.subscriber, count >= rowsMax ? 1 : count);
  }

  #insertRow({ partition, subscriber }: RowKey, groupNumber: GroupNumber, ranges: Buffer): void {
    const crc = consumptionDeltaChecksum({ partition, subscriber, groupNumber }, ranges);
    this.#insert.run(partition, subscriber, groupNumber, ranges, crc);
  }

  #rowCountsOf(partition: PartitionId): Map<number, number> {
    let counts = this.#rowCounts.get(partition);
    if (counts === undefined) {
      counts = new Map();
      this.#rowCounts.set(partition, counts);
    }
    return counts;
  }

  /** All ranges count from the partition's first sequence number, so they merge as they are. */
  #mergeRows({ partition, subscriber }: RowKey, groupNumber: GroupNumber): void {
    const deltas = this.#file
      .prepare('SELECT ranges FROM consumption WHERE partition = ? AND subscriber = ?')
      .pluck()
      .all(partition, subscriber) as Uint8Array[];
    this.#file
      .prepare('DELETE FROM consumption WHERE partition = ? AND subscriber = ?')
      .run(partition, subscriber);
    const ranges = mergeRanges(deltas.flatMap((delta) => decodeRanges(delta, 0)));
    this.#insertRow({ partition, subscriber }, groupNumber, Buffer.from(encodeRanges(ranges, 0)));
  }
}

/** Also before a partition is assigned: nothing of an earlier owner may count for the new one. */
export function deleteConsumption(file: SqliteFile, partition: PartitionId): void {
  file.prepare('DELETE FROM consumption WHERE partition = ?').run(partition);
}

/** For a repair. */
export function insertConsumption(
  file: SqliteFile,
  key: RowKey & { groupNumber: GroupNumber },
  ranges: Uint8Array,
): void {
  const crc = consumptionDeltaChecksum(key, ranges);
  file.prepare(insertDeltaSql).run(key.partition, key.subscriber, key.groupNumber, Buffer.from(ranges), crc);
}

interface ConsumptionRow extends RowKey {
  groupNumber: GroupNumber;
  ranges: Uint8Array;
  crc: number;
}

/** Rows by partition, each with whether it is what was written. */
export function readConsumption(
  file: SqliteFile,
): Map<number, { subscriber: SubscriberId; ranges: Uint8Array; undamaged: boolean }[]> {
  const rows = file.prepare(`SELECT ${selectList(columns)} FROM consumption`).all() as ConsumptionRow[];
  const checked = rows.map(({ crc, ...row }) => ({
    ...row,
    undamaged: crc === consumptionDeltaChecksum(row, row.ranges),
  }));
  return Map.groupBy(checked, ({ partition }) => partition);
}
