/** What one transaction of sharded queues wants to commit: messages in, messages out. */
import type { SeqRange } from '../core/consumption.ts';
import { limits } from '../core/limits.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import type { DelayedRow } from '../storage/delayed-table.ts';
import {
  type RecordContent,
  type RecordRun,
  type RecordStamp,
  recordEnd,
  writeRecord,
} from '../storage/message-record.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { SqlResult } from '../types.ts';
import type { Delivery } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import type { OutcomeEntry } from './outcome-book.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import type { Slab } from './slab.ts';
import type { WriterHold } from './writer-hold.ts';

/** Messages of one transaction for one shard; numbered when their group closes. */
export interface StagedRun {
  shard: Shard;
  segments: CachedRun[];
  count: number;
  firstSeq: number;
}

export interface StagedTransaction {
  runs: StagedRun[];
  /** Called when the group is durable, before anything else can happen. */
  applied?: () => void;
  /** Filled by `side`: what becomes terminal in its partition without being consumed. */
  terminal?: ReadonlyMap<ShardReader, readonly SeqRange[]>;
  /** Its group has no other member, and none is under way beside it. */
  alone?: true;
  /** Nobody's commit: neither counted as one nor as a wait. */
  background?: true;
  /** Messages that go to a shard when they are due. */
  delayed?: DelayedRow[];
  /** Held messages that the commit consumes. */
  deliveries: Delivery[];
  /** Rarely used: called when the group closes, before its messages are numbered, for what else it is to write. */
  side?: () => SideChange[];
  /** The same, called once its messages have numbers and partitions; nobody can see them yet. */
  placed?: () => SideChange[];
  /** The application's statements; what they come to is put in when the group is durable. */
  sql?: { statements: SqlStatement[]; results: readonly SqlResult[] };
  /** The writer has done its statements already, in a transaction that its group goes on in. */
  hold?: WriterHold;
  bytes: number;
  /** FULL if any of its queues is durable. */
  sync: 'FULL' | 'NORMAL';
  /** For a remote session: what the commit is remembered by. */
  outcome?: OutcomeTag & {
    /** For each enqueue call, the index of its run; of a delayed message -1 and below, see `enqueuedIds`. */
    runOfCall: readonly number[];
  };
}

/** Names a transaction of a remote session; its outcome is stored with its commit. */
export interface OutcomeTag {
  entry: OutcomeEntry;
  no: number;
}

export function operationsOf({ runs, deliveries }: StagedTransaction): number {
  let operations = 0;
  for (const { count } of runs) operations += count;
  for (const { count } of deliveries) operations += count;
  return operations;
}

export function newRun(shard: Shard): StagedRun {
  return { shard, segments: [], count: 0, firstSeq: 0 };
}

export interface StagedMessage {
  slab: Slab;
  run: StagedRun;
  message: RecordContent;
  /** As `recordBytes` says, and those of an id that is stamped. */
  room: number;
  stamp: RecordStamp;
}

/** Writes the message's record at the end of a run; returns its bytes. */
export function stageMessage({ slab, run, message, room, stamp }: StagedMessage): number {
  const { buffer, start } = slab.reserve(room);
  const end = writeRecord(buffer, start, message, stamp);
  slab.claim(buffer, end);
  addRecord(run, buffer, start, end);
  return end - start;
}

/** Copies records to the end of a run, in pieces that fit a block. */
export function stageRecords(slab: Slab, run: StagedRun, { source, start, end }: RecordRun): void {
  let count = 0;
  let from = start;
  for (let at = start; at < end; ) {
    const next = recordEnd(source, at);
    if (count > 0 && (next - from > limits.blockBytesMax || count === limits.blockMessagesMax)) {
      stageRun(slab, run, { source, start: from, end: at, count });
      from = at;
      count = 0;
    }
    count += 1;
    at = next;
  }
  stageRun(slab, run, { source, start: from, end, count });
}

function stageRun(slab: Slab, run: StagedRun, { source, start, end, count }: RecordRun): void {
  const { buffer, start: at } = slab.reserve(end - start);
  source.copy(buffer, at, start, end);
  slab.claim(buffer, at + end - start);
  run.segments.push({
    firstSeq: 0,
    count,
    buffer,
    start: at,
    end: at + end - start,
    readBack: false,
    kept: 0,
  });
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
  } else run.segments.push({ firstSeq: 0, count: 1, buffer, start, end, readBack: false, kept: 0 });
}
