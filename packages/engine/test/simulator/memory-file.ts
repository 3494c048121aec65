/**
 * An instance's file in memory: its tables, and what recovery finds. It keeps what is synced apart from what is only written,
 * which a crash may lose from any group on. `memory-writer.ts` is how an instance reaches it.
 */
import { decodeRanges, mergeRanges, type SeqRange } from '../../src/model/consumption.ts';
import type { DelayMoment } from '../../src/model/delay-clock.ts';
import { type DelayedRow, delayedSinceMs } from '../../src/model/delayed-message.ts';
import type { EvacuatedRow } from '../../src/model/evacuated-message.ts';
import type { ForwardedInRow, ForwardedOutRow } from '../../src/model/forwarding-row.ts';
import type { PoolChanges, SqlOutcome, SqlTransaction } from '../../src/model/group-message.ts';
import { readPayload, recordEnd } from '../../src/model/message-record.ts';
import type { ReadBlock, ReadOperation, ReadResults } from '../../src/model/read-request.ts';
import type { RecoveredInstance, RecoveredPartition } from '../../src/model/recovered-instance.ts';
import type { TableWrite } from '../../src/model/table-write.ts';
import type { DecisionRow, PreparedBranchRow } from '../../src/model/xa-rows.ts';
import { xidKey } from '../../src/model/xid.ts';
import { runStatements } from './memory-statements.ts';
import type { Chance } from './scheduler.ts';
import { expectThat, SimulationFailure } from './simulation-failure.ts';

/** Deltas of a partition are merged past this number, as the real file does past another one. */
const deltasMax = 16;

interface StoredPartition {
  queueId: number;
  shard: number;
  firstSeq: number;
  blocks: ReadBlock[];
  deltas: Uint8Array[];
  attempts: Map<number, number>;
}

/** What a group writes. Its bytes are copied, since the group's buffer is used again. */
export interface WrittenGroup {
  groupNumber: number;
  poolChanges: PoolChanges;
  blocks: (ReadBlock & { partition: number })[];
  deltas: { partition: number; ranges: Uint8Array }[];
  tableWrites: readonly TableWrite[];
  sqlTransactions: WrittenSqlTransaction[];
}

export interface WrittenSqlTransaction
  extends Pick<WrittenGroup, 'blocks' | 'deltas' | 'tableWrites'>,
    Pick<SqlTransaction, 'statements' | 'branch'> {
  gapDeltas: WrittenGroup['deltas'];
}

/** The tables. */
class Tables {
  /** Null: free. */
  readonly partitions: Map<number, StoredPartition | null>;
  readonly delayed: Map<number, DelayedRow>;
  delayMoment: DelayMoment | null;
  readonly evacuated: Map<string, EvacuatedRow>;
  readonly forwardedOut: Map<string, ForwardedOutRow>;
  readonly forwardedIn: Map<string, ForwardedInRow>;
  readonly preparedBranches: Map<string, PreparedBranchRow>;
  readonly decisions: Map<string, DecisionRow>;
  /** The application's one table: balances by account. */
  readonly balances: Map<number, number>;
  /** By log: the end of the numbers that it ever had. */
  readonly logEnds: Map<string, number>;
  /** Payloads of partitions that were truncated. */
  readonly truncatedPayloads: Set<string>;

  constructor(from?: Tables) {
    this.partitions = new Map(
      [...(from?.partitions ?? [])].map(([id, stored]) => [
        id,
        stored && {
          ...stored,
          blocks: [...stored.blocks],
          deltas: [...stored.deltas],
          attempts: new Map(stored.attempts),
        },
      ]),
    );
    this.delayed = new Map(from?.delayed);
    this.delayMoment = from?.delayMoment ?? null;
    this.evacuated = new Map(from?.evacuated);
    this.forwardedOut = new Map(from?.forwardedOut);
    this.forwardedIn = new Map(from?.forwardedIn);
    this.preparedBranches = new Map(from?.preparedBranches);
    this.decisions = new Map(from?.decisions);
    this.balances = new Map(from?.balances);
    this.logEnds = new Map(from?.logEnds);
    this.truncatedPayloads = new Set(from?.truncatedPayloads);
  }

  /** Returns how the group's statements ended. */
  apply({ poolChanges, sqlTransactions, ...content }: WrittenGroup): SqlOutcome[] {
    for (const partition of poolChanges.create) this.partitions.set(partition, null);
    for (const partition of poolChanges.truncate) this.#truncate(partition);
    for (const { partition, queueId, shard, firstSeq } of poolChanges.assign) {
      expectThat(
        this.partitions.get(partition) === null,
        () => `partition ${partition} is assigned and not free`,
      );
      const empty = { blocks: [], deltas: [], attempts: new Map<number, number>() };
      this.partitions.set(partition, { queueId, shard, firstSeq, ...empty });
    }
    this.#applyContent(content);
    return sqlTransactions.map((transaction) => {
      const outcome = runStatements(transaction, this);
      if (outcome.failure === null) this.#applyContent(transaction);
      else
        for (const { partition, ranges } of transaction.gapDeltas)
          this.#addDelta(this.#assigned(partition), ranges);
      return outcome;
    });
  }

  #applyContent({
    blocks,
    deltas,
    tableWrites,
  }: Pick<WrittenGroup, 'blocks' | 'deltas' | 'tableWrites'>): void {
    for (const { partition, ...block } of blocks) {
      const stored = this.#assigned(partition);
      const log = `${stored.queueId} ${stored.shard}`;
      const end = this.logEnds.get(log) ?? 0;
      expectThat(block.firstSeq >= end, () => `log ${log} ended at ${end} and restarts at ${block.firstSeq}`);
      this.logEnds.set(log, block.firstSeq + block.count);
      stored.blocks.push(block);
    }
    for (const { partition, ranges } of deltas) this.#addDelta(this.#assigned(partition), ranges);
    for (const write of tableWrites) this.#applyTableWrite(write);
  }

  #assigned(partition: number): StoredPartition {
    const stored = this.partitions.get(partition);
    expectThat(
      stored !== null && stored !== undefined,
      () => `partition ${partition} is written to and free`,
    );
    return stored!;
  }

  #addDelta(stored: StoredPartition, ranges: Uint8Array): void {
    stored.deltas.push(ranges);
    if (stored.deltas.length < deltasMax) return;
    const merged = mergeRanges(stored.deltas.flatMap((delta) => decodeRanges(delta, 0)));
    stored.deltas = [encode(merged)];
  }

  #truncate(partition: number): void {
    const stored = this.#assigned(partition);
    for (const { payload, seq, live } of messagesOf(stored)) {
      expectThat(!live, () => `partition ${partition} is truncated with live message ${stored.shard}.${seq}`);
      this.truncatedPayloads.add(payload);
    }
    this.partitions.set(partition, null);
  }

  #applyTableWrite(write: TableWrite): void {
    switch (write.kind) {
      case 'insert delayed':
        this.delayed.set(write.message.delayedId, write.message);
        return;
      case 'delete delayed':
        this.delayed.delete(write.message.delayedId);
        return;
      case 'delay moment':
        this.delayMoment = write.moment;
        return;
      case 'attempts': {
        const { attempts } = this.#assigned(write.partition);
        for (const row of write.rows) attempts.set(row.seq, row.attempts);
        return;
      }
      case 'evacuate': {
        const stored = this.#assigned(write.partition);
        for (const row of write.rows)
          this.evacuated.set(evacuatedKey(row), { ...row, record: recordAt(stored, row.seq) });
        return;
      }
      case 'evacuated attempts': {
        const row = this.evacuated.get(evacuatedKey(write.evacuated));
        if (row !== undefined) this.evacuated.set(evacuatedKey(row), { ...row, ...write.evacuated });
        return;
      }
      case 'evacuated consumed':
        this.evacuated.delete(evacuatedKey(write.evacuated));
        return;
      case 'forwarded out':
        this.forwardedOut.set(`${write.row.queueId} ${write.row.shard} ${write.row.receiver}`, write.row);
        return;
      case 'forwarded in':
        this.forwardedIn.set(`${write.row.queueId} ${write.row.shard} ${write.row.sender}`, write.row);
        return;
      case 'prepare branch':
        this.preparedBranches.set(xidKey(write.row), write.row);
        return;
      case 'end branch':
        this.preparedBranches.delete(xidKey(write.key));
        return;
      case 'decide commit':
        this.decisions.set(Buffer.from(write.row.gtrid).toString('hex'), write.row);
        return;
      case 'forget decision':
        this.decisions.delete(Buffer.from(write.gtrid).toString('hex'));
        return;
      case 'sample':
        return;
      default:
        throw new SimulationFailure(`the file in memory has no table for "${write.kind}"`);
    }
  }

  /** Every message in the tables. Evacuated ones are live outside of their partition. */
  *messages(): Generator<{ queueId: number; payload: string; live: boolean }> {
    for (const stored of this.partitions.values()) {
      if (stored === null) continue;
      for (const { payload, live } of messagesOf(stored)) {
        yield { queueId: stored.queueId, payload, live };
      }
    }
    for (const { queueId, record } of [...this.delayed.values(), ...this.evacuated.values()]) {
      yield { queueId, payload: payloadOf(record), live: true };
    }
  }
}

function evacuatedKey({ queueId, shard, seq }: { queueId: number; shard: number; seq: number }): string {
  return `${queueId} ${shard} ${seq}`;
}

function payloadOf(record: Uint8Array): string {
  return readPayload(Buffer.from(record.buffer, record.byteOffset, record.byteLength), 0).toString();
}

function encode(ranges: readonly SeqRange[]): Uint8Array {
  const bytes: number[] = [];
  let from = 0;
  const push = (value: number) => {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    bytes.push(rest);
  };
  for (const [start, end] of ranges) {
    push(start - from);
    push(end - start);
    from = end;
  }
  return Uint8Array.from(bytes);
}

function* messagesOf({
  firstSeq,
  blocks,
  deltas,
}: StoredPartition): Generator<{ seq: number; payload: string; live: boolean }> {
  const terminal = mergeRanges(deltas.flatMap((delta) => decodeRanges(delta, firstSeq)));
  for (const block of blocks) {
    const body = block.body as Buffer;
    let offset = 0;
    for (let seq = block.firstSeq; seq < block.firstSeq + block.count; seq += 1) {
      const live = !terminal.some(([start, end]) => start <= seq && seq < end);
      yield { seq, payload: readPayload(body, offset).toString(), live };
      offset = recordEnd(body, offset);
    }
  }
}

/** Of the newest delayed message, which has the highest id. */
function lastEnqueuedAtMs(delayed: Iterable<DelayedRow>): number | null {
  const newest = [...delayed].toSorted((a, b) => a.delayedId - b.delayedId).at(-1);
  return newest === undefined ? null : delayedSinceMs(newest);
}

function recordAt({ blocks }: StoredPartition, seq: number): Uint8Array {
  const block = blocks.findLast(({ firstSeq }) => firstSeq <= seq)!;
  const body = block.body as Buffer;
  let start = 0;
  for (let at = block.firstSeq; at < seq; at += 1) start = recordEnd(body, start);
  return body.subarray(start, recordEnd(body, start));
}

export class MemoryFile {
  #synced = new Tables();
  #written = new Tables();
  /** Groups that are written and not synced, in order. */
  #unsynced: WrittenGroup[] = [];
  #epoch = 0;

  /** Returns how the group's statements ended. */
  write(group: WrittenGroup): SqlOutcome[] {
    this.#unsynced.push(group);
    return this.#written.apply(group);
  }

  /** Everything up to this group is on disk from now on. */
  sync(groupNumber: number): void {
    while (this.#unsynced.length > 0 && this.#unsynced[0]!.groupNumber <= groupNumber)
      this.#synced.apply(this.#unsynced.shift()!);
  }

  /** A power cut: of the groups that were not synced the first few survive. */
  crash(chance: Chance): { kept: number; lost: number } {
    const kept = chance.between(0, this.#unsynced.length);
    const lost = this.#unsynced.length - kept;
    for (const group of this.#unsynced.slice(0, kept)) this.#synced.apply(group);
    this.#unsynced = [];
    this.#written = new Tables(this.#synced);
    return { kept, lost };
  }

  get tables(): Tables {
    return this.#written;
  }

  /** What a power cut would leave at least. */
  get syncedTables(): Tables {
    return this.#synced;
  }

  /** Raises the epoch, which is durable at once. */
  recover(): RecoveredInstance {
    this.#epoch += 1;
    const { partitions, delayed, delayMoment, evacuated, forwardedOut, forwardedIn } = this.#written;
    const assigned: RecoveredPartition[] = [];
    const freePartitions: number[] = [];
    for (const [partition, stored] of partitions) {
      if (stored === null) freePartitions.push(partition);
      else assigned.push(recoverPartition(partition, stored));
    }
    assigned.sort((a, b) => a.queueId - b.queueId || a.shard - b.shard || a.firstSeq - b.firstSeq);
    for (const [index, partition] of assigned.entries()) {
      const next = assigned[index + 1];
      const follows = next?.queueId === partition.queueId && next.shard === partition.shard;
      assertNoMessageMissing(
        partitions.get(partition.partition)!,
        follows ? next.firstSeq : partition.endSeq,
      );
    }
    const delayedCounts = new Map<number, number>();
    let nextDueAtMs: number | null = null;
    for (const { queueId, dueAtMs } of delayed.values()) {
      delayedCounts.set(queueId, (delayedCounts.get(queueId) ?? 0) + 1);
      nextDueAtMs = Math.min(nextDueAtMs ?? dueAtMs, dueAtMs);
    }
    return {
      epoch: this.#epoch,
      freePartitions,
      unusablePartitions: [],
      partitions: assigned,
      sessionOutcomes: [],
      subscriptions: [],
      forwardedOut: [...forwardedOut.values()],
      forwardedIn: [...forwardedIn.values()],
      delayedCounts,
      nextDueAtMs,
      delayClock: { moment: delayMoment, lastEnqueuedAtMs: lastEnqueuedAtMs(delayed.values()) },
      evacuated: [...evacuated.values()].sort((a, b) => a.seq - b.seq),
      deliveryMarks: null, // it never closes
      payloads: { references: [], orphans: [] },
      preparedBranches: [...this.#written.preparedBranches.values()],
      decisions: [...this.#written.decisions.values()],
      services: { states: [], tenures: [] }, // it has none
      lostMessages: [],
    };
  }

  read(request: ReadOperation): ReadResults[keyof ReadResults] {
    switch (request.kind) {
      case 'blocks':
        return this.#readBlocks(request.partition, request.fromSeq);
      case 'due': {
        const rows = [...this.#written.delayed.values()].sort(
          (a, b) => a.dueAtMs - b.dueAtMs || a.delayedId - b.delayedId,
        );
        const next = rows.find(({ dueAtMs }) => dueAtMs > request.nowMs);
        const due = rows.filter(({ dueAtMs }) => dueAtMs <= request.nowMs);
        return { rows: due, nextDueAtMs: next?.dueAtMs ?? null };
      }
      default:
        throw new SimulationFailure(`the file in memory does not read "${request.kind}"`);
    }
  }

  /** At most two blocks at a time, so that reads follow one another. */
  #readBlocks(partition: number, fromSeq: number): ReadResults['blocks'] {
    const blocks = this.#written.partitions.get(partition)?.blocks ?? [];
    const rest = blocks.filter(({ firstSeq, count }) => firstSeq + count > fromSeq);
    return { blocks: rest.slice(0, 2), more: rest.length > 2 };
  }
}

function recoverPartition(partition: number, stored: StoredPartition): RecoveredPartition {
  const { queueId, shard, firstSeq, blocks, deltas, attempts } = stored;
  const last = blocks.at(-1);
  return {
    partition,
    queueId,
    shard,
    firstSeq,
    endSeq: last === undefined ? firstSeq : last.firstSeq + last.count,
    bytes: blocks.reduce((sum, { body }) => sum + body.byteLength, 0),
    messages: blocks.reduce((sum, { count }) => sum + count, 0),
    terminalDeltas: deltas.map((ranges) => ({ subscriber: 0, ranges })),
    attempts: [...attempts].map(([seq, count]) => ({ subscriber: 0, seq, attempts: count })),
    damageReason: null,
    unknownFromSeq: null,
  };
}

/** Every number of a partition is that of a message or a gap that is recorded as terminal. */
function assertNoMessageMissing({ shard, firstSeq, blocks, deltas }: StoredPartition, endSeq: number): void {
  const gaps = mergeRanges(deltas.flatMap((delta) => decodeRanges(delta, firstSeq)));
  let at = firstSeq;
  for (const { firstSeq: start, count } of [...blocks, { firstSeq: endSeq, count: 0 }]) {
    const isGap = start === at || gaps.some(([from, to]) => from <= at && start <= to);
    expectThat(start >= at && isGap, () => `message ${shard}.${at} is missing in its partition`);
    at = start + count;
  }
}
