/** Lays the transactions of one group out for the writer: blocks of messages, and what they make terminal. */
import { encodeRanges, mergeRanges, type SeqRange } from '../core/consumption.ts';
import { limits } from '../core/limits.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import type { BlockEntry, Delta, DeltaEntry, Group, SqlTransaction } from '../storage/group-message.ts';
import type { SideChange } from '../storage/side-change.ts';
import { GroupOutcomes } from './group-outcomes.ts';
import type { Delivery } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import type { OutcomeBook } from './outcome-book.ts';
import type { PartitionPool } from './partition-pool.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import type { StagedRun, StagedTransaction } from './staged-transaction.ts';

export interface BuiltGroup {
  message: Omit<Group, 'kind' | 'no' | 'generation'>;
  /** Per shard, what was numbered: on failure these numbers become gaps. */
  numbered: Map<Shard, SeqRange>;
  consumed: Map<ShardReader, Consumed>;
  outcomes: GroupOutcomes;
  /** Transactions with statements, in the order of `message.sql`. */
  sql: Map<StagedTransaction, SqlPart>;
}

/** A transaction with statements is laid out apart: it may fail where the others do not. */
export interface SqlPart {
  message: SqlTransaction;
  consumed: Map<ShardReader, Consumed>;
}

/** What one reader's commits consume: the hand-outs, and the same as merged ranges. */
export interface Consumed {
  deliveries: Delivery[];
  ranges: SeqRange[];
}

/** Buffers shared with the writer, used in turn: one more than groups in flight, so none is overwritten while read. */
export class GroupBuffers {
  readonly #buffers: SharedArrayBuffer[] = [];
  #turn = 0;

  next(bytes: number): SharedArrayBuffer {
    this.#turn = (this.#turn + 1) % (limits.groupsInFlightMax + 1);
    const buffer = this.#buffers[this.#turn];
    if (buffer !== undefined && buffer.byteLength >= bytes) return buffer;
    const room = 2 ** Math.ceil(Math.log2(Math.max(bytes, 64 * 1024)));
    const grown = new SharedArrayBuffer(room);
    this.#buffers[this.#turn] = grown;
    return grown;
  }
}

export interface GroupMaterial {
  transactions: readonly StagedTransaction[];
  /** Gaps that a failed group left, to be made durable with this one. */
  gaps: Map<Shard, SeqRange[]>;
  pool: PartitionPool;
  buffers: GroupBuffers;
  book: OutcomeBook;
}

/** Numbers the messages in commit order and copies them into a shared buffer. */
export function buildGroup({ transactions, gaps, pool, buffers, book }: GroupMaterial): BuiltGroup {
  const runsByShard = new Map<Shard, CachedRun[]>();
  const numbered = new Map<Shard, SeqRange>();
  const consumed = new Map<ShardReader, Consumed>();
  const side: SideChange[] = [];
  const sql = new Map<StagedTransaction, SqlPart>();
  const parts = new Map<CachedRun, SqlTransaction>();
  let bytes = 0;
  let relaxed = true;
  for (const transaction of transactions) {
    if (transaction.sync === 'FULL') relaxed = false;
    if (transaction.side !== undefined) side.push(...transaction.side());
    const part = transaction.sql && newPart(transaction.sql.statements);
    if (part !== undefined) sql.set(transaction, part);
    const ownSide = part?.message.side ?? side;
    for (const message of transaction.delayed ?? []) ownSide.push({ kind: 'delay', message });
    for (const run of transaction.runs) {
      const { shard } = run;
      const firstSeq = shard.nextSeq;
      for (const segment of run.segments) {
        segment.firstSeq = shard.nextSeq;
        shard.nextSeq += segment.count;
        if (!shard.persistent) continue;
        bytes += segment.end - segment.start;
        if (part !== undefined) parts.set(segment, part.message);
        const runs = runsByShard.get(shard);
        if (runs === undefined) runsByShard.set(shard, [segment]);
        else runs.push(segment);
      }
      run.firstSeq = firstSeq;
      numbered.set(shard, [numbered.get(shard)?.[0] ?? firstSeq, shard.nextSeq]);
    }
    addDeliveries(part?.consumed ?? consumed, transaction.deliveries);
  }

  const deltas = deltasOf(consumed, gaps, side);
  for (const { terminal = [] } of transactions) {
    for (const [{ shard, subscriber, durable }, ranges] of terminal) {
      if (durable) splitByPartition({ shard, subscriber, ranges }, deltas);
    }
  }
  for (const delta of deltas) bytes += delta.ranges.length;
  for (const part of sql.values()) part.message.deltas = deltasOf(part.consumed, noGaps, part.message.side);
  const outcomes = new GroupOutcomes(transactions, book);
  bytes += outcomes.bytes;

  const buffer = buffers.next(bytes);
  const target = Buffer.from(buffer);
  let at = 0;
  const blocks: BlockEntry[] = [];
  for (const [shard, runs] of runsByShard) at = layBlocks({ shard, runs, parts, pool, target, at, blocks });
  for (const transaction of transactions) {
    if (transaction.placed === undefined) continue;
    const ownSide = sql.get(transaction)?.message.side ?? side;
    ownSide.push(...transaction.placed());
  }
  for (const [{ runs }, { message }] of sql) message.gaps = gapsOf(runs);
  const entries: DeltaEntry[] = deltas.map(({ partition, subscriber, ranges }) => {
    const offset = at;
    target.set(ranges, offset);
    at += ranges.length;
    return { partition, subscriber, offset, length: ranges.length };
  });
  const sync = relaxed && transactions.length > 0 ? 'NORMAL' : 'FULL';
  const message = {
    sync,
    buffer,
    blocks,
    deltas: entries,
    outcomes: outcomes.write(target, at),
    side,
    sql: [...sql].map(([transaction, part]) => ({ ...part.message, outcome: outcomes.placeOf(transaction) })),
    pool: pool.take(),
  } as const;
  return { message, numbered, consumed, outcomes, sql };
}

const noGaps: ReadonlyMap<Shard, SeqRange[]> = new Map();

function newPart(statements: SqlStatement[]): SqlPart {
  const message = { statements, blocks: [], deltas: [], side: [], outcome: null, gaps: [] };
  return { message, consumed: new Map() };
}

function addDeliveries(consumed: Map<ShardReader, Consumed>, deliveries: readonly Delivery[]): void {
  for (const delivery of deliveries) {
    const own = consumed.get(delivery.reader);
    if (own === undefined) consumed.set(delivery.reader, { deliveries: [delivery], ranges: [] });
    else own.deliveries.push(delivery);
  }
}

/** What becomes terminal for everyone if these runs are not written: their numbers are given. */
function gapsOf(runs: readonly StagedRun[]): Delta[] {
  const gaps: Delta[] = [];
  for (const { shard, firstSeq, count } of runs) {
    if (!shard.persistent) continue;
    splitByPartition({ shard, subscriber: 0, ranges: [[firstSeq, firstSeq + count]] }, gaps);
  }
  return gaps;
}

interface BlockRoom {
  shard: Shard;
  runs: readonly CachedRun[];
  /** Runs of transactions with statements: a block has those of one of them, or of none. */
  parts: ReadonlyMap<CachedRun, SqlTransaction>;
  pool: PartitionPool;
  target: Buffer;
  at: number;
  blocks: BlockEntry[];
}

/** Joins runs of one shard into blocks and finds each a partition. Returns the offset after the last one. */
function layBlocks({ shard, runs, parts, pool, target, at, blocks }: BlockRoom): number {
  let block: BlockEntry | undefined;
  let partOfBlock: SqlTransaction | undefined;
  const close = () => {
    if (block !== undefined) shard.partitions.append(block.firstSeq + block.count, block.length);
  };
  for (const run of runs) {
    const length = run.end - run.start;
    const part = parts.get(run);
    const fits =
      block !== undefined &&
      part === partOfBlock &&
      block.length + length <= limits.blockBytesMax &&
      block.count + run.count <= limits.blockMessagesMax &&
      !shard.partitions.mustRoll(block.count + run.count, block.length + length);
    if (!fits) {
      close();
      if (shard.partitions.mustRoll(run.count, length)) {
        const { queueId, no, indexed } = shard;
        const owner = { queueId, shard: no, firstSeq: run.firstSeq, indexed };
        shard.partitions.assign(pool.assign(owner), run.firstSeq);
      }
      const partition = shard.partitions.all.at(-1)!.no;
      block = { partition, firstSeq: run.firstSeq, count: 0, offset: at, length: 0 };
      partOfBlock = part;
      (part?.blocks ?? blocks).push(block);
    }
    run.buffer.copy(target, at, run.start, run.end);
    at += length;
    block!.count += run.count;
    block!.length += length;
  }
  close();
  return at;
}

/** What becomes terminal: consumed by a subscriber, or for everyone (subscriber 0) since no message has the number. */
function deltasOf(
  consumed: ReadonlyMap<ShardReader, Consumed>,
  gaps: ReadonlyMap<Shard, SeqRange[]>,
  side: SideChange[],
): Delta[] {
  const deltas: Delta[] = [];
  const gapsLeft = new Map(gaps);
  for (const [reader, own] of consumed) {
    const { shard, subscriber } = reader;
    own.ranges = mergeRanges(
      own.deliveries.map(({ firstSeq, count }) => [firstSeq, firstSeq + count] as const),
    );
    if (!shard.persistent || shard.dropped || reader.removed || !reader.durable) continue;
    let ranges: readonly SeqRange[] = own.ranges;
    if (reader.aside.size > 0) {
      const { plain, stragglers } = reader.apart(ranges);
      ranges = plain;
      for (const straggler of stragglers) side.push({ kind: 'straggler consumed', straggler });
    }
    if (subscriber === 0 && gapsLeft.has(shard)) {
      ranges = mergeRanges([...ranges, ...gapsLeft.get(shard)!]);
      gapsLeft.delete(shard);
    }
    splitByPartition({ shard, subscriber, ranges }, deltas);
  }
  for (const [shard, ranges] of gapsLeft) {
    if (shard.persistent && !shard.dropped)
      splitByPartition({ shard, subscriber: 0, ranges: mergeRanges(ranges) }, deltas);
  }
  return deltas;
}

function splitByPartition(
  { shard, subscriber, ranges }: { shard: Shard; subscriber: number; ranges: readonly SeqRange[] },
  out: Delta[],
): void {
  let partition: ReturnType<typeof shard.partitions.find> | undefined;
  let inPartition: SeqRange[] = [];
  const close = () => {
    if (partition === undefined || inPartition.length === 0) return;
    out.push({
      partition: partition.no,
      subscriber,
      ranges: encodeRanges(inPartition, partition.firstSeq),
    });
    inPartition = [];
  };
  for (const [start, end] of ranges) {
    let from = start;
    while (from < end) {
      const next = shard.partitions.find(from);
      if (next !== partition) {
        close();
        partition = next;
      }
      const to = Math.min(end, shard.partitions.rangeEnd(next));
      inPartition.push([from, to]);
      from = to;
    }
  }
  close();
}
