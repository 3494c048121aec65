/**
 * Reads messages from their partitions: ahead of consumers where the message cache did not keep them, and for browsing.
 * Reads are in bulk, and at most one is in progress for a cursor.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { CachedRun } from '../log/message-cache.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { Consumption } from '../model/consumption.ts';
import type { DelayedKey, DelayedRow, DueMessages } from '../model/delayed-message.ts';
import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { IdempotencyKeyRow } from '../model/idempotency-key.ts';
import type { LogId, PartitionId, QueueId, Seq } from '../model/ids.ts';
import { ignoreViolation } from '../model/invariant.ts';
import { bufferOf } from '../model/message-record.ts';
import type { Partition } from '../model/partitions.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';
import type { FileReader, ReadBlock } from '../model/read-request.ts';

/** Called when a read for a cursor has ended, with the error if it failed: the messages are still on disk then. */
export type ReadListener = (cursor: SubscriberCursor, error: QueueError | undefined) => void;

export interface BacklogReaderOptions {
  file: FileReader;
  /** After `PARTITION_DAMAGED` the partition is not read again, and the cursor stops in front of it. */
  onRead: ReadListener;
}

export class BacklogReader {
  readonly #file: FileReader;
  readonly #onRead: ReadListener;
  readonly #readsByCursor = new Map<SubscriberCursor, Promise<void>>();

  constructor({ file, onRead }: BacklogReaderOptions) {
    this.#file = file;
    this.#onRead = onRead;
  }

  /** Starts the next read for a cursor if its window runs low. */
  readAhead(cursor: SubscriberCursor): void {
    const fromSeq = cursor.nextReadSeq();
    if (fromSeq === undefined || this.#readsByCursor.has(cursor) || this.damageAhead(cursor)) return;
    const read = this.#load(cursor, fromSeq);
    this.#readsByCursor.set(cursor, read);
    read
      .then(
        () => this.#onReadEnded(cursor),
        (error: unknown) => this.#onReadEnded(cursor, toQueueError(error)),
      )
      .catch(ignoreViolation);
  }

  /** The error if the next messages of the cursor are in a damaged partition. */
  damageAhead(cursor: SubscriberCursor): QueueError | undefined {
    const fromSeq = cursor.nextReadSeq();
    if (fromSeq === undefined) return undefined;
    const { id, damaged } = cursor.log.partitions.partitionOf(fromSeq);
    return damaged ? partitionDamaged(cursor.log.id, id, fromSeq) : undefined;
  }

  #onReadEnded(cursor: SubscriberCursor, error?: QueueError): void {
    this.#readsByCursor.delete(cursor);
    this.#onRead(cursor, error ?? this.damageAhead(cursor));
  }

  /** The first read in progress for one of these cursors; rejects if it fails. */
  pendingRead(cursors: readonly SubscriberCursor[]): Promise<void> | undefined {
    for (const cursor of cursors) {
      const read = this.#readsByCursor.get(cursor);
      if (read !== undefined) return read;
    }
    return undefined;
  }

  async #load(cursor: SubscriberCursor, fromSeq: Seq): Promise<void> {
    const { runs, readEnd } = await this.readRuns(cursor, fromSeq);
    cursor.addReadRuns(runs, readEnd);
  }

  /** Reads messages of a log from `fromSeq` on, as many as one bulk read returns. They include all live messages below `readEnd`. */
  async readRuns(
    { log, consumption }: SubscriberCursor,
    fromSeq: Seq,
  ): Promise<{ runs: CachedRun[]; readEnd: Seq }> {
    const committedEnd = log.committedEndSeq;
    const partition = log.partitions.partitionOf(fromSeq);
    const rangeEnd = Math.min(log.partitions.endSeqOf(partition), committedEnd);
    const { blocks, more } = await this.#file
      .read({ kind: 'blocks', partition: partition.id, fromSeq, bytesMax: limits.backlogReadBytes })
      .catch((error: unknown) => {
        if (toQueueError(error).code !== 'STORAGE_CORRUPT') throw error;
        if (!isTruncated(log, partition)) partition.apply('damage');
        return { blocks: [], more: true };
      });
    if (isTruncated(log, partition)) {
      return { runs: [], readEnd: Math.min(consumption.watermark, log.committedEndSeq) };
    }
    const runs = blocks.map(toRun);
    const whole = runsBeforeMissing(runs, { fromSeq, endSeq: more ? undefined : rangeEnd, consumption });
    if (whole.hasMissing) partition.apply('damage');
    return whole;
  }

  /**
   * The same, but only blocks that may have a message whose correlation id has this hash, found by the partition's index.
   * If the index is damaged, all messages are read.
   */
  async searchRuns(
    cursor: SubscriberCursor,
    fromSeq: Seq,
    hash: number,
  ): Promise<{ runs: CachedRun[]; readEnd: Seq }> {
    const { log, consumption } = cursor;
    const partition = log.partitions.partitionOf(fromSeq);
    const rangeEnd = Math.min(log.partitions.endSeqOf(partition), log.committedEndSeq);
    const found = await this.#file
      .read({
        kind: 'search',
        partition: partition.id,
        fromSeq,
        hash,
        bytesMax: limits.backlogReadBytes,
      })
      .catch((error: unknown) => {
        if (toQueueError(error).code !== 'STORAGE_CORRUPT' && !isTruncated(log, partition)) throw error;
      });
    if (isTruncated(log, partition))
      return { runs: [], readEnd: Math.min(consumption.watermark, log.committedEndSeq) };
    if (found === undefined) return this.readRuns(cursor, fromSeq);
    const runs = found.blocks.map(toRun);
    const last = runs.at(-1);
    return { runs, readEnd: found.more && last !== undefined ? last.firstSeq + last.count : rangeEnd };
  }

  /** If `seq` is in a damaged partition, the end of what it holds: browsing continues there. */
  damagedEndSeq({ log }: SubscriberCursor, seq: Seq): Seq | undefined {
    if (!log.persistent) return undefined;
    const partition = log.partitions.partitionOf(seq);
    return partition.damaged ? Math.min(log.partitions.endSeqOf(partition), log.committedEndSeq) : undefined;
  }

  /** The evacuated messages of a cursor. */
  readEvacuated({ log, subscriber }: SubscriberCursor): Promise<EvacuatedRow[]> {
    return this.#file.read({ kind: 'evacuated', queueId: log.queueId, shard: log.id, subscriber });
  }

  /** Delayed messages of a queue after a key, the first due first. `more`: there are others behind them. */
  readDelayed(queueId: QueueId, after: DelayedKey): Promise<{ rows: DelayedRow[]; more: boolean }> {
    return this.#file.read({ kind: 'delayed', queueId, after, bytesMax: limits.backlogReadBytes });
  }

  /** One chunk of a payload; undefined if it is missing. Throws `STORAGE_CORRUPT`. */
  async readChunk(place: ChunkKey): Promise<Uint8Array | undefined> {
    return (await this.#file.read({ kind: 'chunk', ...place })).body;
  }

  /** Reads the row that was committed under the key, however old; undefined if there is none. Throws `STORAGE_CORRUPT`. */
  async readIdempotencyKey(key: string): Promise<IdempotencyKeyRow | undefined> {
    return (await this.#file.read({ kind: 'idempotency key', key })).row;
  }

  /** Delayed messages that are due at this time. */
  readDue(nowMs: number): Promise<DueMessages> {
    return this.#file.read({ kind: 'due', nowMs, bytesMax: limits.backlogReadBytes });
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Whether the partition was drained during the read, and may hold messages of another log by now. */
function isTruncated({ partitions }: MessageLog, partition: Partition): boolean {
  return partition.truncating || !partitions.all.includes(partition);
}

/**
 * The runs up to the first missing sequence number that is not terminal. Every number that is not terminal has a message,
 * so a missing one was lost with a part of its table.
 */
function runsBeforeMissing(
  runs: CachedRun[],
  { fromSeq, endSeq, consumption }: { fromSeq: Seq; endSeq: Seq | undefined; consumption: Consumption },
): { runs: CachedRun[]; readEnd: Seq; hasMissing: boolean } {
  const isTerminal = (start: Seq, end: Seq) =>
    end <= start || consumption.terminalCountBetween(start, end) === end - start;
  let readEnd = fromSeq;
  for (const [index, { firstSeq, count }] of runs.entries()) {
    if (!isTerminal(readEnd, firstSeq)) return { runs: runs.slice(0, index), readEnd, hasMissing: true };
    readEnd = firstSeq + count;
  }
  if (endSeq === undefined) return { runs, readEnd, hasMissing: false };
  const hasMissing = !isTerminal(readEnd, endSeq);
  return { runs, readEnd: hasMissing ? readEnd : Math.max(readEnd, endSeq), hasMissing };
}

function toRun({ firstSeq, count, body }: ReadBlock): CachedRun {
  const buffer = bufferOf(body);
  return { firstSeq, count, buffer, start: 0, end: buffer.byteLength, fromDisk: true, retainCount: 0 };
}

/** An `InvariantViolation` is one already: it has stopped the instance. */
function toQueueError(error: unknown): QueueError {
  return error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error });
}

function partitionDamaged(logId: LogId, partition: PartitionId, fromSeq: Seq): QueueError {
  return new QueueError('PARTITION_DAMAGED', {
    message: `Partition ${partition} is damaged: shard ${logId} delivers nothing from message ${logId}.${fromSeq} on. Other shards and queues are not affected`,
    details: { shard: logId, partition, fromSeq },
  });
}
