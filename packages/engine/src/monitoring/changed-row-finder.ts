/** Builds the sample rows of all queues as of one moment, and picks those that changed since they were last written. */

import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { Seq } from '../model/ids.ts';
import type { SampleRows, SampleTable } from '../model/sample.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { partitionSample, queueSample, shardSample, subscriberSample } from './build-samples.ts';
import type { ClockReading, RateTracker } from './rate-tracker.ts';

type SampleRow = SampleRows[SampleTable];

export interface ChangedRow {
  table: SampleTable;
  row: SampleRow;
  /** The queue, log, cursor or partition that the row describes. */
  subject: object;
  /** False once the subject was dropped: writing the row then would bring back what the drop deleted. */
  stillExists(): boolean;
}

/** Columns that change with time alone. */
const ignoredColumns = new Set(['windowMs']);

export class ChangedRowFinder {
  readonly #rates: RateTracker;
  /** The last written row of each subject. */
  readonly #lastWritten = new WeakMap<object, SampleRow>();
  /** End of the committed messages at the previous sample. */
  readonly #sampledEnds = new WeakMap<MessageLog, Seq>();

  constructor(rates: RateTracker) {
    this.#rates = rates;
  }

  /** The returned rows count as written. Pass those that could not be written to `markUnwritten`. */
  findChanged(queues: Iterable<ShardedQueue>, now: ClockReading): ChangedRow[] {
    const rows: ChangedRow[] = [];
    for (const queue of queues) {
      this.#addIfChanged(rows, {
        table: 'queue',
        row: queueSample(queue),
        subject: queue,
        stillExists: () => queue.logs.some((log) => !log.dropped),
      });
      for (const log of queue.logs) {
        const row = shardSample(log, this.#rates, now);
        this.#addIfChanged(rows, { table: 'shard', row, subject: log, stillExists: () => !log.dropped });
        for (const cursor of log.cursors) this.#addCursor(rows, cursor, now);
        this.#addPartitions(rows, log);
      }
    }
    return rows;
  }

  markUnwritten(rows: readonly ChangedRow[]): void {
    for (const { subject } of rows) this.#lastWritten.delete(subject);
  }

  #addCursor(rows: ChangedRow[], cursor: SubscriberCursor, now: ClockReading): void {
    const row = subscriberSample(cursor, this.#rates, now);
    const stillExists = () => !cursor.removed && !cursor.log.dropped;
    this.#addIfChanged(rows, { table: 'subscriber', row, subject: cursor, stillExists });
  }

  /**
   * A log may have 100,000 partitions, so only those that can have changed are compared: partitions with delivered
   * messages, and partitions with messages committed since the previous sample.
   */
  #addPartitions(rows: ChangedRow[], log: MessageLog): void {
    const sampledEnd = this.#sampledEnds.get(log) ?? 0;
    this.#sampledEnds.set(log, log.committedEndSeq);
    let deliveredEnd = 0;
    for (const { position } of log.cursors) deliveredEnd = Math.max(deliveredEnd, position);
    for (const partition of log.partitions.all) {
      const mayHaveChanged =
        partition.firstSeq < deliveredEnd || partition.endSeq >= sampledEnd || partition.damaged;
      if (partition.truncating || !mayHaveChanged) continue;
      const row = partitionSample(log, partition);
      const stillExists = () => !partition.truncating && !log.dropped;
      this.#addIfChanged(rows, { table: 'partition', row, subject: partition, stillExists });
    }
  }

  #addIfChanged(rows: ChangedRow[], candidate: ChangedRow): void {
    const written = this.#lastWritten.get(candidate.subject);
    if (written !== undefined && isSame(written, candidate.row)) return;
    this.#lastWritten.set(candidate.subject, candidate.row);
    rows.push(candidate);
  }
}

function isSame(written: SampleRow, current: SampleRow): boolean {
  for (const [column, value] of Object.entries(current)) {
    if (value !== written[column as keyof SampleRow] && !ignoredColumns.has(column)) return false;
  }
  return true;
}
