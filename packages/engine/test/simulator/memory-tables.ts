/** The tables of an instance's file in memory, and what a group changes in them. `memory-file.ts` keeps two copies of them. */
import { decodeRanges, mergeRanges, type SeqRange } from '../../src/model/consumption.ts';
import type { DelayMoment } from '../../src/model/delay-clock.ts';
import type { DelayedRow } from '../../src/model/delayed-message.ts';
import type { EvacuatedKey, EvacuatedRow } from '../../src/model/evacuated-message.ts';
import type { ForwardedInRow, ForwardedOutRow } from '../../src/model/forwarding-row.ts';
import type { PoolChanges, SqlOutcome, SqlTransaction } from '../../src/model/group-message.ts';
import { isAddressedTo } from '../../src/model/inspect-record.ts';
import { readPayload, recordEnd } from '../../src/model/message-record.ts';
import type { ReadBlock } from '../../src/model/read-request.ts';
import type { SubscriptionRow } from '../../src/model/subscriber-row.ts';
import type { TableWrite } from '../../src/model/table-write.ts';
import type { DecisionRow, PreparedBranchRow } from '../../src/model/xa-rows.ts';
import { xidKey } from '../../src/model/xid.ts';
import { runStatements } from './memory-statements.ts';
import { news, newsSubscribers } from './simulated-queues.ts';
import { expectThat, SimulationFailure } from './simulation-failure.ts';

/** Past this number the deltas of a partition are merged, as the real file does past another number. */
const deltasMax = 16;

/** Sequence numbers that are terminal for a subscriber, or for all if that is 0. */
export interface StoredDelta {
  subscriber: number;
  ranges: Uint8Array;
}

export interface StoredPartition {
  queueId: number;
  shard: number;
  firstSeq: number;
  blocks: ReadBlock[];
  deltas: StoredDelta[];
  attempts: Map<number, number>;
}

/** The content of a group. Its bytes are copied, since the group's buffer is reused. */
export interface WrittenGroup {
  groupNumber: number;
  poolChanges: PoolChanges;
  blocks: (ReadBlock & { partition: number })[];
  deltas: (StoredDelta & { partition: number })[];
  tableWrites: readonly TableWrite[];
  sqlTransactions: WrittenSqlTransaction[];
}

export interface WrittenSqlTransaction
  extends Pick<WrittenGroup, 'blocks' | 'deltas' | 'tableWrites'>,
    Pick<SqlTransaction, 'statements' | 'branch'> {
  gapDeltas: WrittenGroup['deltas'];
}

/** The tables of one file. */
export class MemoryTables {
  /** Partitions by number; null for a free one. */
  readonly partitions: Map<number, StoredPartition | null>;
  readonly delayed: Map<number, DelayedRow>;
  delayMoment: DelayMoment | null;
  readonly evacuated: Map<string, EvacuatedRow>;
  readonly subscriptions: Map<string, SubscriptionRow>;
  readonly forwardedOut: Map<string, ForwardedOutRow>;
  readonly forwardedIn: Map<string, ForwardedInRow>;
  readonly preparedBranches: Map<string, PreparedBranchRow>;
  readonly decisions: Map<string, DecisionRow>;
  /** The only table of the application: balances by account. */
  readonly balances: Map<number, number>;
  /** By log, the end of all sequence numbers that it ever had. */
  readonly logEnds: Map<string, number>;
  /** Payloads of truncated partitions. */
  readonly truncatedPayloads: Set<string>;

  constructor(from?: MemoryTables) {
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
    this.subscriptions = new Map(from?.subscriptions);
    this.forwardedOut = new Map(from?.forwardedOut);
    this.forwardedIn = new Map(from?.forwardedIn);
    this.preparedBranches = new Map(from?.preparedBranches);
    this.decisions = new Map(from?.decisions);
    this.balances = new Map(from?.balances);
    this.logEnds = new Map(from?.logEnds);
    this.truncatedPayloads = new Set(from?.truncatedPayloads);
  }

  /** Applies a group; returns the outcomes of its statements. */
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
        for (const { partition, ...delta } of transaction.gapDeltas)
          this.#addDelta(this.#assigned(partition), delta);
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
    for (const { partition, ...delta } of deltas) this.#addDelta(this.#assigned(partition), delta);
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

  #addDelta(stored: StoredPartition, delta: StoredDelta): void {
    stored.deltas.push(delta);
    if (stored.deltas.length < deltasMax) return;
    stored.deltas = [...Map.groupBy(stored.deltas, ({ subscriber }) => subscriber)].map(
      ([subscriber, deltas]) => {
        const merged = mergeRanges(deltas.flatMap(({ ranges }) => decodeRanges(ranges, 0)));
        return { subscriber, ranges: encode(merged) };
      },
    );
  }

  #truncate(partition: number): void {
    const stored = this.#assigned(partition);
    for (const { payload, seq, live } of this.#messagesOf(stored)) {
      expectThat(!live, () => `partition ${partition} is truncated with live message ${stored.shard}.${seq}`);
      this.truncatedPayloads.add(payload);
    }
    this.partitions.set(partition, null);
  }

  #applyTableWrite(write: TableWrite): void {
    switch (write.kind) {
      case 'subscribe': {
        const { queueId, shard, subscriber } = write.subscription;
        this.subscriptions.set(`${queueId} ${shard} ${subscriber}`, write.subscription);
        return;
      }
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

  /** Whether a message is live. One of a topic is while any of its subscribers has not consumed it. */
  *#messagesOf(stored: StoredPartition): Generator<{ seq: number; payload: string; live: boolean }> {
    const readers = this.#readersOf(stored);
    for (const block of stored.blocks) {
      const body = block.body as Buffer;
      let offset = 0;
      for (let seq = block.firstSeq; seq < block.firstSeq + block.count; seq += 1) {
        const at = offset;
        const live = readers.some(({ needs }) => needs(seq, body, at));
        yield { seq, payload: readPayload(body, offset).toString(), live };
        offset = recordEnd(body, offset);
      }
    }
  }

  #readersOf(stored: StoredPartition): { needs(seq: number, body: Buffer, offset: number): boolean }[] {
    const { queueId, shard } = stored;
    if (queueId !== news.queueId) {
      const isTerminal = terminalFor(stored, 0);
      return [{ needs: (seq) => !isTerminal(seq) }];
    }
    const ofLog = [...this.subscriptions.values()].filter(
      (row) => row.queueId === queueId && row.shard === shard,
    );
    return ofLog.map(({ subscriber, firstSeq }) => {
      const isTerminal = terminalFor(stored, subscriber);
      const { name } = newsSubscribers.find(({ id }) => id === subscriber)!;
      return {
        needs: (seq, body, offset) =>
          seq >= firstSeq && !isTerminal(seq) && isAddressedTo(body, offset, name),
      };
    });
  }

  /** All messages in the tables. Evacuated messages are live outside of their partition. */
  *messages(): Generator<{ queueId: number; payload: string; live: boolean }> {
    for (const stored of this.partitions.values()) {
      if (stored === null) continue;
      for (const { payload, live } of this.#messagesOf(stored)) {
        yield { queueId: stored.queueId, payload, live };
      }
    }
    for (const { queueId, record } of [...this.delayed.values(), ...this.evacuated.values()]) {
      yield { queueId, payload: payloadOf(record), live: true };
    }
  }
}

function evacuatedKey({ queueId, shard, subscriber, seq }: EvacuatedKey): string {
  return `${queueId} ${shard} ${subscriber} ${seq}`;
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

/** Whether a message is terminal for the subscriber. */
function terminalFor({ firstSeq, deltas }: StoredPartition, wanted: number): (seq: number) => boolean {
  const own = deltas.filter(({ subscriber }) => subscriber === 0 || subscriber === wanted);
  const terminal = mergeRanges(own.flatMap(({ ranges }) => decodeRanges(ranges, firstSeq)));
  return (seq) => terminal.some(([start, end]) => start <= seq && seq < end);
}

function recordAt({ blocks }: StoredPartition, seq: number): Uint8Array {
  const block = blocks.findLast(({ firstSeq }) => firstSeq <= seq)!;
  const body = block.body as Buffer;
  let start = 0;
  for (let at = block.firstSeq; at < seq; at += 1) start = recordEnd(body, start);
  return body.subarray(start, recordEnd(body, start));
}
