/**
 * One group: encoded for the writer when it closes (blocks of messages, rows of tables, and what becomes terminal), and
 * applied to the logs once it is durable.
 */
import type { QueueError } from '../api/errors.ts';

import { limits } from '../api/limits.ts';
import type { Delivery } from '../log/delivery.ts';
import type { CommittedGroup } from '../log/log-trace.ts';
import type { CachedRun } from '../log/message-cache.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { encodeRanges, mergeRanges, type SeqRange } from '../model/consumption.ts';
import type {
  BlockEntry,
  ConsumptionDelta,
  ConsumptionDeltaEntry,
  Group,
  SqlTransaction,
} from '../model/group-message.ts';
import type { GroupNumber, SubscriberId, WriterGeneration } from '../model/ids.ts';
import type { PartitionPool } from '../model/partitions.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { CommitOutcomes } from './commit-outcomes.ts';
import { GroupOutcomes } from './group-outcomes.ts';
import { appendRun, numberRun, type StagedRun, type StagedSql } from './staged-transaction.ts';
import type { GroupMember } from './system-write.ts';
import type { WriterReservation } from './writer-reservation.ts';

export interface BuiltGroup {
  message: Omit<Group, 'kind' | 'groupNumber' | 'generation'>;
  /** The sequence numbers given in each log: if the group fails they become gaps. */
  numberedRanges: Map<MessageLog, SeqRange>;
  consumed: Map<SubscriberCursor, ConsumedByCursor>;
  /** Undefined if no member is a transaction of a remote session. */
  outcomes: GroupOutcomes | undefined;
  /** Members with statements, in the order of `message.sqlTransactions`. */
  sql: Map<GroupMember, SqlTransactionPart>;
}

/** A transaction with statements is encoded apart from the others, since it can fail where they succeed. */
export interface SqlTransactionPart {
  message: SqlTransaction;
  consumed: Map<SubscriberCursor, ConsumedByCursor>;
}

/** The messages that a group consumes for one cursor: as deliveries, and as merged ranges. */
export interface ConsumedByCursor {
  deliveries: Delivery[];
  ranges: SeqRange[];
}

/** A member of a group, and the caller that waits for it. */
export interface PendingMember {
  content: GroupMember;
  /** Set if the member is no commit but a session that waits to reserve the writer. */
  reservation: WriterReservation | undefined;
  submittedAtMs: number;
  /**
   * While the member is pending: total time of writer reservations before it arrived. Once its group is closed: total time of
   * reservations while it was pending.
   */
  reservedMs: number;
  resolve(): void;
  reject(error: QueueError): void;
}

/** A closed group that the writer has not answered. */
export interface InFlightGroup extends BuiltGroup {
  /** Gaps of earlier failures that this group makes durable. */
  gaps: Map<MessageLog, SeqRange[]>;
  groupNumber: GroupNumber;
  generation: WriterGeneration;
  members: PendingMember[];
}

/** Members of a group whose statements failed, and why: the group is durable without them. */
export type FailedMembers = ReadonlyMap<GroupMember, QueueError>;

export const noneFailed: FailedMembers = new Map();

/** Told of sequence numbers that became terminal for a cursor, once that is durable. */
export type ConsumptionListener = (cursor: SubscriberCursor, ranges: readonly SeqRange[]) => void;

/** The result of a group once it is durable. */
export interface DurableResult {
  failed: FailedMembers;
  /** How long it was written and synced; 0 if there was nothing to write. */
  writeMs: number;
  onConsumed: ConsumptionListener | undefined;
}

/** Buffers shared with the writer, used in turn: one more than groups in flight, so none is overwritten while read. */
export class GroupBuffers {
  readonly #buffers: SharedArrayBuffer[] = [];
  #index = 0;

  next(bytes: number): SharedArrayBuffer {
    this.#index = (this.#index + 1) % (limits.groupsInFlightMax + 1);
    const buffer = this.#buffers[this.#index];
    if (buffer !== undefined && buffer.byteLength >= bytes) return buffer;
    const grown = new SharedArrayBuffer(2 ** Math.ceil(Math.log2(Math.max(bytes, 64 * 1024))));
    this.#buffers[this.#index] = grown;
    return grown;
  }
}

export interface GroupInput {
  members: readonly GroupMember[];
  /** Gaps that a failed group left, to be made durable with this one. */
  gaps: Map<MessageLog, SeqRange[]>;
  pool: PartitionPool;
  buffers: GroupBuffers;
  outcomes: CommitOutcomes;
}

const noEncodedOutcomes = { offset: 0, length: 0, retiredThroughGroup: 0 };

/** Numbers the messages in commit order and copies them into a shared buffer. */
export function buildGroup({ members, gaps, pool, buffers, outcomes: allOutcomes }: GroupInput): BuiltGroup {
  const segmentsByLog = new Map<MessageLog, CachedRun[]>();
  const numberedRanges = new Map<MessageLog, SeqRange>();
  const consumed = new Map<SubscriberCursor, ConsumedByCursor>();
  const tableWrites: TableWrite[] = [];
  const sql = new Map<GroupMember, SqlTransactionPart>();
  const sqlOfSegment = new Map<CachedRun, SqlTransaction>();
  let bytes = 0;
  let relaxed = true;
  let hasOutcomes = false;
  for (const member of members) {
    if (member.sync === 'FULL') relaxed = false;
    let part: SqlTransactionPart | undefined;
    if (member.sql !== undefined) {
      part = newSqlPart(member.sql);
      sql.set(member, part);
    }
    const writes = part?.message.tableWrites ?? tableWrites;
    if (member.kind === 'transaction') {
      if (member.outcome !== undefined) hasOutcomes = true;
      for (const message of member.delayed ?? []) writes.push({ kind: 'insert delayed', message });
      if (member.serviceState !== undefined) writes.push({ kind: 'service state', row: member.serviceState });
    } else if (member.onClose !== undefined) writes.push(...member.onClose());
    for (const run of member.runs) {
      const { log } = run;
      numberRun(run);
      numberedRanges.set(log, [numberedRanges.get(log)?.[0] ?? run.firstSeq, log.nextSeq]);
      if (!log.persistent) continue;
      for (const segment of run.segments) {
        bytes += segment.end - segment.start;
        if (part !== undefined) sqlOfSegment.set(segment, part.message);
        const segments = segmentsByLog.get(log);
        if (segments === undefined) segmentsByLog.set(log, [segment]);
        else segments.push(segment);
      }
    }
    addDeliveries(part?.consumed ?? consumed, member.deliveries);
  }

  const terminal = new Map<SubscriberCursor, readonly SeqRange[]>();
  for (const member of members) {
    if (member.kind === 'transaction' || member.terminalRanges === undefined || member.sql !== undefined)
      continue;
    for (const [cursor, ranges] of member.terminalRanges)
      terminal.set(cursor, [...(terminal.get(cursor) ?? []), ...ranges]);
  }
  const deltas = deltasOf({ consumed, terminal, gaps, tableWrites });
  for (const delta of deltas) bytes += delta.ranges.length;
  for (const [member, { message, consumed }] of sql) {
    const ofMember = member.kind === 'system write' ? member.terminalRanges : undefined;
    const tableWrites = message.tableWrites;
    message.consumptionDeltas = deltasOf({ consumed, tableWrites, ...(ofMember && { terminal: ofMember }) });
  }
  const outcomes = hasOutcomes ? new GroupOutcomes(members, allOutcomes) : undefined;
  bytes += outcomes?.bytes ?? 0;

  const buffer = buffers.next(bytes);
  const target = Buffer.from(buffer);
  let offset = 0;
  const blocks: BlockEntry[] = [];
  for (const [log, segments] of segmentsByLog)
    offset = packBlocks({ log, segments, sqlOfSegment, pool, target, offset, blocks });
  for (const member of members) {
    const writes = sql.get(member)?.message.tableWrites ?? tableWrites;
    if (member.kind === 'system write') writes.push(...(member.onNumbered?.() ?? []));
    else if (member.payloads !== undefined || member.keyWrite !== undefined) {
      if (member.payloads !== undefined) writes.push(...member.payloads.onNumbered());
      if (member.keyWrite !== undefined) writes.push(member.keyWrite());
    }
  }
  for (const [{ runs }, { message }] of sql) message.gapDeltas = gapDeltasOf(runs);
  const deltaEntries: ConsumptionDeltaEntry[] = deltas.map(({ partition, subscriber, ranges }) => {
    const entry = { partition, subscriber, offset, length: ranges.length };
    target.set(ranges, offset);
    offset += ranges.length;
    return entry;
  });
  const message = {
    sync: relaxed && members.length > 0 ? 'NORMAL' : 'FULL',
    buffer,
    blocks,
    consumptionDeltas: deltaEntries,
    outcomes: outcomes?.write(target, offset) ?? noEncodedOutcomes,
    tableWrites,
    sqlTransactions: [...sql].map(([member, part]) => ({
      ...part.message,
      outcomeRange: outcomes?.locationOf(member) ?? null,
    })),
    poolChanges: pool.takeChanges(),
  } as const;
  return { message, numberedRanges, consumed, outcomes, sql };
}

/**
 * Makes a durable group visible: its messages to cursors, what it consumed as terminal. Numbers of members that failed
 * become gaps. Returns the logs that changed.
 */
export function applyGroup(
  { groupNumber, members, numberedRanges, consumed, sql }: InFlightGroup,
  { failed, writeMs, onConsumed }: DurableResult,
): Set<MessageLog> {
  const inGroup: CommittedGroup = { groupNumber, others: members.length - 1, writeMs };
  const allConsumed = [consumed];
  for (const { content } of members) {
    if (failed.has(content)) {
      for (const { log, firstSeq, count } of content.runs) log.skipGap(firstSeq, firstSeq + count);
      continue;
    }
    for (const run of content.runs) appendRun(run, inGroup);
    if (content.kind === 'transaction') content.payloads?.onDurable();
    content.onDurable?.();
    if (content.sql !== undefined) allConsumed.push(sql.get(content)!.consumed);
  }
  const changedLogs = new Set(numberedRanges.keys());
  for (const byCursor of allConsumed) {
    for (const [cursor, { deliveries, ranges }] of byCursor) {
      cursor.consume(deliveries, ranges, groupNumber);
      onConsumed?.(cursor, ranges);
      changedLogs.add(cursor.log);
    }
  }
  return changedLogs;
}

function newSqlPart({ statements, branch }: StagedSql): SqlTransactionPart {
  const message = {
    statements,
    branch,
    blocks: [],
    consumptionDeltas: [],
    tableWrites: [],
    outcomeRange: null,
    gapDeltas: [],
  };
  return { message, consumed: new Map() };
}

function addDeliveries(
  consumed: Map<SubscriberCursor, ConsumedByCursor>,
  deliveries: readonly Delivery[],
): void {
  for (const delivery of deliveries) {
    delivery.cursor.deliveries.assertConsumable(delivery);
    const byCursor = consumed.get(delivery.cursor);
    if (byCursor === undefined) consumed.set(delivery.cursor, { deliveries: [delivery], ranges: [] });
    else byCursor.deliveries.push(delivery);
  }
}

/** The numbers of a transaction's messages, as deltas: they become terminal for all subscribers if its statements fail. */
function gapDeltasOf(runs: readonly StagedRun[]): ConsumptionDelta[] {
  const gaps: ConsumptionDelta[] = [];
  for (const { log, firstSeq, count } of runs) {
    if (!log.persistent) continue;
    splitByPartition({ log, subscriber: 0, ranges: [[firstSeq, firstSeq + count]] }, gaps);
  }
  return gaps;
}

interface PackBlocksInput {
  log: MessageLog;
  segments: readonly CachedRun[];
  /** Segments of transactions with statements: a block never mixes them with those of another transaction. */
  sqlOfSegment: ReadonlyMap<CachedRun, SqlTransaction>;
  pool: PartitionPool;
  target: Buffer;
  offset: number;
  blocks: BlockEntry[];
}

/** Joins segments of one log into blocks and finds each a partition. Returns the offset after the last block. */
function packBlocks({ log, segments, sqlOfSegment, pool, target, offset, blocks }: PackBlocksInput): number {
  let block: BlockEntry | undefined;
  let sqlOfBlock: SqlTransaction | undefined;
  const close = () => {
    if (block !== undefined) log.partitions.append(block.firstSeq + block.count, block.length);
  };
  for (const segment of segments) {
    const length = segment.end - segment.start;
    const sql = sqlOfSegment.get(segment);
    const fits =
      block !== undefined &&
      sql === sqlOfBlock &&
      block.length + length <= limits.blockBytesMax &&
      block.count + segment.count <= limits.blockMessagesMax &&
      !log.partitions.needsNewPartition(block.count + segment.count, block.length + length);
    if (!fits) {
      close();
      if (log.partitions.needsNewPartition(segment.count, length)) {
        const { queueId, id: shard, correlationIndexed: hasCorrelationIndex } = log;
        const { firstSeq } = segment;
        log.partitions.assign(pool.assign({ queueId, shard, firstSeq, hasCorrelationIndex }), firstSeq);
      }
      const partition = log.partitions.all.at(-1)!.id;
      const { keepsConsumed } = log;
      block = { partition, firstSeq: segment.firstSeq, count: 0, offset, length: 0, keepsConsumed };
      sqlOfBlock = sql;
      (sql?.blocks ?? blocks).push(block);
    }
    segment.buffer.copy(target, offset, segment.start, segment.end);
    offset += length;
    block!.count += segment.count;
    block!.length += length;
  }
  close();
  return offset;
}

interface DeltasInput {
  consumed: ReadonlyMap<SubscriberCursor, ConsumedByCursor>;
  /** Ranges that become terminal in their partition without being consumed. */
  terminal?: ReadonlyMap<SubscriberCursor, readonly SeqRange[]>;
  gaps?: ReadonlyMap<MessageLog, SeqRange[]>;
  tableWrites: TableWrite[];
}

/**
 * Collects the ranges that become terminal: consumed by a subscriber, or for all (subscriber 0) because no message has the
 * number. One delta for each partition and subscriber, which is the table's key.
 */
function deltasOf({ consumed, terminal, gaps, tableWrites }: DeltasInput): ConsumptionDelta[] {
  const deltas: ConsumptionDelta[] = [];
  const terminalLeft = new Map(terminal);
  const gapsLeft = new Map(gaps);
  const addOthers = (cursor: SubscriberCursor, own: readonly SeqRange[]): readonly SeqRange[] => {
    const others = terminalLeft.get(cursor) ?? [];
    terminalLeft.delete(cursor);
    const ofEveryone = cursor.subscriber === 0 ? (gapsLeft.get(cursor.log) ?? []) : [];
    if (ofEveryone.length > 0) gapsLeft.delete(cursor.log);
    return others.length + ofEveryone.length === 0 ? own : mergeRanges([...own, ...others, ...ofEveryone]);
  };
  for (const [cursor, byCursor] of consumed) {
    const { log, subscriber } = cursor;
    byCursor.ranges = mergeRanges(
      byCursor.deliveries.map(({ firstSeq, count }) => [firstSeq, firstSeq + count] as const),
    );
    if (!log.persistent || log.dropped || cursor.removed || !cursor.durable) continue;
    let ranges: readonly SeqRange[] = byCursor.ranges;
    if (cursor.evacuated.size > 0) {
      const { inPartitions, evacuated: consumedEvacuated } = cursor.splitEvacuated(ranges);
      ranges = inPartitions;
      for (const evacuated of consumedEvacuated) tableWrites.push({ kind: 'evacuated consumed', evacuated });
    }
    splitByPartition({ log, subscriber, ranges: addOthers(cursor, ranges) }, deltas);
  }
  for (const cursor of [...terminalLeft.keys()]) {
    const { log, subscriber, durable, removed } = cursor;
    const ranges = addOthers(cursor, []);
    if (durable && !removed && !log.dropped) splitByPartition({ log, subscriber, ranges }, deltas);
  }
  for (const [log, ranges] of gapsLeft) {
    if (log.persistent && !log.dropped)
      splitByPartition({ log, subscriber: 0, ranges: mergeRanges(ranges) }, deltas);
  }
  return deltas;
}

function splitByPartition(
  { log, subscriber, ranges }: { log: MessageLog; subscriber: SubscriberId; ranges: readonly SeqRange[] },
  deltas: ConsumptionDelta[],
): void {
  let partition: ReturnType<typeof log.partitions.partitionOf> | undefined;
  let inPartition: SeqRange[] = [];
  const close = () => {
    if (partition === undefined || inPartition.length === 0) return;
    deltas.push({
      partition: partition.id,
      subscriber,
      ranges: encodeRanges(inPartition, partition.firstSeq),
    });
    inPartition = [];
  };
  for (const [start, end] of ranges) {
    for (let from = start; from < end; ) {
      const next = log.partitions.partitionOf(from);
      if (next !== partition) {
        close();
        partition = next;
      }
      const to = Math.min(end, log.partitions.endSeqOf(next));
      inPartition.push([from, to]);
      from = to;
    }
  }
  close();
}
