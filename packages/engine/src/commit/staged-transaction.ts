/** A session's transaction on sharded queues as it is staged in memory, and the records of its messages. */

import { limits } from '../api/limits.ts';
import type { SqlResult } from '../api/sql.ts';
import type { Delivery } from '../log/delivery.ts';
import type { CommittedGroup } from '../log/log-trace.ts';
import type { CachedRun } from '../log/message-cache.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { DelayedRow } from '../model/delayed-message.ts';
import type { SqlBranch } from '../model/group-message.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { Seq, SessionNumber, TransactionNumber } from '../model/ids.ts';
import { delayedLogId } from '../model/log-id.ts';
import {
  type RecordContent,
  type RecordRun,
  type RecordStamp,
  recordEnd,
  writeRecord,
} from '../model/message-record.ts';
import type { ServiceStateRow } from '../model/service-rows.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { OutcomeEntry } from './commit-outcomes.ts';
import type { WriterReservation } from './writer-reservation.ts';

/** Consecutive messages of one group member for one log; numbered when the group closes. */
export interface StagedRun {
  log: MessageLog;
  segments: CachedRun[];
  count: number;
  firstSeq: Seq;
}

/** The rows of payloads in chunks whose messages are part of a commit. */
export interface PayloadHooks {
  /** Called once the messages have numbers and partitions, before they are visible. */
  onNumbered(): TableWrite[];
  /** Called when the group is durable, before any caller is resumed. */
  onDurable(): void;
}

/** The application's statements; `results` is filled in when the group is durable. */
export interface StagedSql {
  statements: SqlStatement[];
  results: readonly SqlResult[];
  /** Set if the statements, or the row changes that they made, belong to a branch of a distributed transaction. */
  branch?: SqlBranch;
}

/** The content of a session's commit. Writes of the engine itself are a `SystemWrite`. */
export interface StagedTransaction {
  readonly kind: 'transaction';
  readonly runs: StagedRun[];
  /** Held messages that the commit consumes. */
  readonly deliveries: Delivery[];
  /** Messages that are appended to a log when they are due. */
  delayed: DelayedRow[] | undefined;
  sql: StagedSql | undefined;
  /** The session's statements have run already, in the writer's open transaction. */
  reservation: WriterReservation | undefined;
  payloads: PayloadHooks | undefined;
  /** Called when the group is durable, before any caller is resumed. */
  onDurable: (() => void) | undefined;
  /** Writes its idempotency key with it. Called once the messages have numbers. */
  keyWrite: (() => TableWrite) | undefined;
  /** New state of a singleton service. */
  serviceState: ServiceStateRow | undefined;
  bytes: number;
  /** FULL if any of its queues is durable. */
  sync: SyncMode;
  /** The tag under which a remote session's outcome is stored. */
  outcome: TransactionOutcomeTag | undefined;
  /** Time book of the session that commits. */
  time: RecordedTime | undefined;
  /** Number of that session. */
  session: SessionNumber;
}

export type SyncMode = 'FULL' | 'NORMAL';

/** Names a transaction of a remote session; its outcome is stored with its commit. */
export interface OutcomeTag {
  entry: OutcomeEntry;
  transactionNumber: TransactionNumber;
}

export interface TransactionOutcomeTag extends OutcomeTag {
  /** For each enqueue call, the index of its run, or -1 - the index of its delayed message: see `enqueuedIds`. */
  runOfCall: readonly number[];
}

export function newStagedTransaction(): StagedTransaction {
  return {
    kind: 'transaction',
    runs: [],
    deliveries: [],
    delayed: undefined,
    sql: undefined,
    reservation: undefined,
    payloads: undefined,
    onDurable: undefined,
    keyWrite: undefined,
    serviceState: undefined,
    bytes: 0,
    sync: 'NORMAL',
    outcome: undefined,
    time: undefined,
    session: 0,
  };
}

export function newStagedRun(log: MessageLog): StagedRun {
  return { log, segments: [], count: 0, firstSeq: 0 };
}

/** Gives the messages of a run the next numbers of their log. */
export function numberRun(run: StagedRun): void {
  const { log } = run;
  run.firstSeq = log.nextSeq;
  for (const segment of run.segments) {
    segment.firstSeq = log.nextSeq;
    log.nextSeq += segment.count;
  }
}

/** Makes the messages of a numbered run visible to the cursors of their log. */
export function appendRun({ log, segments }: StagedRun, group?: CommittedGroup): void {
  for (const segment of segments) log.append(segment, group);
}

export interface StagedMessage {
  slab: Slab;
  run: StagedRun;
  message: RecordContent;
  /** At least the bytes of its record: `recordBytes`, and those of an id in the stamp. */
  bytesNeeded: number;
  stamp: RecordStamp;
}

/** Writes the message's record at the end of a run; returns its bytes. */
export function stageMessage({ slab, run, message, bytesNeeded, stamp }: StagedMessage): number {
  const { buffer, start } = slab.reserve(bytesNeeded);
  const end = writeRecord(buffer, start, message, stamp);
  slab.claim(buffer, end);
  addRecord(run, buffer, start, end);
  return end - start;
}

/**
 * Adds records to the end of a run, in segments that fit a block. Their source must not be written to any more. They are copied,
 * unless they are most of their buffer: it is kept with them, in at most twice their memory.
 */
export function stageRecords(slab: Slab, run: StagedRun, { source, start, end }: RecordRun): void {
  const addSegment = (end - start) * 2 >= source.buffer.byteLength ? keepSegment : copySegment;
  let count = 0;
  let segmentStart = start;
  for (let recordStart = start; recordStart < end; ) {
    const nextStart = recordEnd(source, recordStart);
    if (count > 0 && (nextStart - segmentStart > limits.blockBytesMax || count === limits.blockMessagesMax)) {
      addSegment(slab, run, { source, start: segmentStart, end: recordStart, count });
      segmentStart = recordStart;
      count = 0;
    }
    count += 1;
    recordStart = nextStart;
  }
  addSegment(slab, run, { source, start: segmentStart, end, count });
}

function copySegment(slab: Slab, run: StagedRun, { source, start, end, count }: RecordRun): void {
  const { buffer, start: copyStart } = slab.reserve(end - start);
  const copyEnd = copyStart + end - start;
  source.copy(buffer, copyStart, start, end);
  slab.claim(buffer, copyEnd);
  keepSegment(slab, run, { source: buffer, start: copyStart, end: copyEnd, count });
}

function keepSegment(_: Slab, run: StagedRun, { source: buffer, start, end, count }: RecordRun): void {
  run.segments.push({ firstSeq: 0, count, buffer, start, end, fromDisk: false, retainCount: 0 });
  run.count += count;
}

/** Copies a record to the end of a run. */
export function stageRecord(slab: Slab, run: StagedRun, record: Uint8Array): void {
  const { buffer, start } = slab.reserve(record.byteLength);
  buffer.set(record, start);
  const end = start + record.byteLength;
  slab.claim(buffer, end);
  addRecord(run, buffer, start, end);
}

/** Extends the last segment where the record follows it in memory, within the size of a block. */
function addRecord(run: StagedRun, buffer: Buffer, start: number, end: number): void {
  run.count += 1;
  const last = run.segments.at(-1);
  if (
    last !== undefined &&
    last.buffer === buffer &&
    last.end === start &&
    last.count < limits.blockMessagesMax &&
    end - last.start <= limits.blockBytesMax
  ) {
    last.end = end;
    last.count += 1;
  } else run.segments.push({ firstSeq: 0, count: 1, buffer, start, end, fromDisk: false, retainCount: 0 });
}

/**
 * The ids that a transaction's enqueue calls got, in their order; known once its group is numbered. `runOfCall` has, for
 * each call, the index of its run, or -1 - the index of its delayed message.
 */
export function enqueuedIds(
  { runs, delayed = [] }: Pick<StagedTransaction, 'runs' | 'delayed'>,
  runOfCall: readonly number[],
): IdRun[] {
  if (runs.length === 1 && delayed.length === 0) {
    const { log, firstSeq, count } = runs[0]!;
    return [{ shard: log.id, firstSeq, count }];
  }
  const nextSeqs = runs.map((run) => run.firstSeq);
  const ids: IdRun[] = [];
  let previousIndex = -1;
  for (const index of runOfCall) {
    if (index < 0) {
      const { shard, delayedId } = delayed[-1 - index]!;
      ids.push({ shard: delayedLogId(shard), firstSeq: delayedId, count: 1 });
    } else {
      const seq = nextSeqs[index]!;
      nextSeqs[index] = seq + 1;
      if (index === previousIndex) ids.at(-1)!.count += 1;
      else ids.push({ shard: runs[index]!.log.id, firstSeq: seq, count: 1 });
    }
    previousIndex = index;
  }
  return ids;
}

const slabBytes = 256 * 1024;

/** Allocates space for message records out of large buffers: one allocation serves hundreds of messages. */
export class Slab {
  #buffer = Buffer.allocUnsafeSlow(slabBytes);
  #usedBytes = 0;

  /** A buffer with `bytes` free from `start` on. Call `claim` with the end of what was written before reserving again. */
  reserve(bytes: number): { buffer: Buffer; start: number } {
    if (bytes > slabBytes / 4) return { buffer: Buffer.allocUnsafeSlow(bytes), start: 0 };
    if (this.#usedBytes + bytes > slabBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(slabBytes);
      this.#usedBytes = 0;
    }
    return { buffer: this.#buffer, start: this.#usedBytes };
  }

  claim(buffer: Buffer, end: number): void {
    if (buffer === this.#buffer) this.#usedBytes = end;
  }
}
