/**
 * An instance's log and tables in memory, and their recovery. Synced content is kept apart from content that is only written, of which a
 * crash may lose all groups from any one on, and both from what is applied, which reads see. An instance uses it through
 * `memory-writer.ts`.
 */
import { decodeRanges, mergeRanges } from '../../src/model/consumption.ts';
import { type DelayedRow, delayedSinceMs } from '../../src/model/delayed-message.ts';
import type { SqlOutcome } from '../../src/model/group-message.ts';
import type { ReadOperation, ReadResults } from '../../src/model/read-request.ts';
import type { RecoveredInstance, RecoveredPartition } from '../../src/model/recovered-instance.ts';
import { MemoryTables, type StoredPartition, type WrittenGroup } from './memory-tables.ts';
import type { Chance } from './scheduler.ts';
import { expectThat, SimulationFailure } from './simulation-failure.ts';

export class MemoryFile {
  #synced = new MemoryTables();
  #written = new MemoryTables();
  /** Groups that are written and not synced, in order. */
  #unsynced: WrittenGroup[] = [];
  /** What reads see, and the groups that they do not see yet, in order. */
  #applied = new MemoryTables();
  #unapplied: WrittenGroup[] = [];
  #appliedThrough = 0;
  /** The last group that was answered: none behind it is applied. */
  answeredThrough = 0;
  #epoch = 0;

  /** Writes a group; returns the outcomes of its statements. */
  write(group: WrittenGroup): SqlOutcome[] {
    this.#unsynced.push(group);
    const outcomes = this.#written.apply(group);
    this.#unapplied.push(group);
    // The application's statements run on the tables, which must have all before them.
    if (group.sqlTransactions.length > 0) this.applyThrough(group.groupNumber);
    return outcomes;
  }

  /** Writes all groups up to this one to the tables. */
  applyThrough(groupNumber: number): void {
    while (this.#unapplied.length > 0 && this.#unapplied[0]!.groupNumber <= groupNumber) {
      const group = this.#unapplied.shift()!;
      this.#applied.apply(group);
      this.#appliedThrough = group.groupNumber;
    }
  }

  /** The last answered group with so many unapplied ones behind it; undefined if there are not so many. */
  appliableBehind(lag: number): number | undefined {
    const answered = this.#unapplied.filter(({ groupNumber }) => groupNumber <= this.answeredThrough);
    return answered.at(-1 - lag)?.groupNumber;
  }

  /** Syncs everything up to this group. */
  sync(groupNumber: number): void {
    while (this.#unsynced.length > 0 && this.#unsynced[0]!.groupNumber <= groupNumber)
      this.#synced.apply(this.#unsynced.shift()!);
  }

  /** A power cut: some of the first unsynced groups survive, among them those that are applied, and the others are lost. */
  crash(chance: Chance): { kept: number; lost: number } {
    const applied = this.#unsynced.filter(({ groupNumber }) => groupNumber <= this.#appliedThrough);
    const kept = chance.between(applied.length, this.#unsynced.length);
    const lost = this.#unsynced.length - kept;
    for (const group of this.#unsynced.slice(0, kept)) this.#synced.apply(group);
    this.#unsynced = [];
    this.#written = new MemoryTables(this.#synced);
    // Recovery applies what the log has.
    this.#applied = new MemoryTables(this.#synced);
    this.#unapplied = [];
    return { kept, lost };
  }

  get tables(): MemoryTables {
    return this.#written;
  }

  /** The content that survives any power cut. */
  get syncedTables(): MemoryTables {
    return this.#synced;
  }

  /** Reads the content as recovery does, and raises the epoch, which is durable at once. */
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
      redo: { logId: new Uint8Array(0), segments: [], turn: 0, end: { group: 0, crc: 0 }, inTables: 0 }, // its writer has none
      freePartitions,
      unusablePartitions: [],
      partitions: assigned,
      sessionOutcomes: [],
      subscriptions: [...this.#written.subscriptions.values()],
      forwardedOut: [...forwardedOut.values()],
      forwardedIn: [...forwardedIn.values()],
      delayedCounts,
      nextDueAtMs,
      delayClock: { moment: delayMoment, lastEnqueuedAtMs: lastEnqueuedAtMs(delayed.values()) },
      evacuated: [...evacuated.values()].sort((a, b) => a.seq - b.seq),
      deliveryMarks: null, // Simulated instances are never closed.
      payloads: { references: [], orphans: [] },
      preparedBranches: [...this.#written.preparedBranches.values()],
      decisions: [...this.#written.decisions.values()],
      services: { states: [], tenures: [] }, // Simulated instances have no services.
      lostMessages: [],
    };
  }

  read(request: ReadOperation): ReadResults[keyof ReadResults] {
    switch (request.kind) {
      case 'blocks':
        return this.#readBlocks(request.partition, request.fromSeq);
      case 'due': {
        const rows = [...this.#applied.delayed.values()].sort(
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

  /** Reads at most two blocks at a time, so that a backlog takes several reads. */
  #readBlocks(partition: number, fromSeq: number): ReadResults['blocks'] {
    const blocks = this.#applied.partitions.get(partition)?.blocks ?? [];
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
    terminalDeltas: deltas,
    attempts: [...attempts].map(([seq, count]) => ({ subscriber: 0, seq, attempts: count })),
    damageReason: null,
    unknownFromSeq: null,
  };
}

/** Asserts that each number of a partition is that of a message, or of a gap that is recorded as terminal. */
function assertNoMessageMissing({ shard, firstSeq, blocks, deltas }: StoredPartition, endSeq: number): void {
  const forAll = deltas.filter(({ subscriber }) => subscriber === 0);
  const gaps = mergeRanges(forAll.flatMap(({ ranges }) => decodeRanges(ranges, firstSeq)));
  let at = firstSeq;
  for (const { firstSeq: start, count } of [...blocks, { firstSeq: endSeq, count: 0 }]) {
    const isGap = start === at || gaps.some(([from, to]) => from <= at && start <= to);
    expectThat(start >= at && isGap, () => `message ${shard}.${at} is missing in its partition`);
    at = start + count;
  }
}

/** The enqueue time of the newest delayed message, which has the highest id. */
function lastEnqueuedAtMs(delayed: Iterable<DelayedRow>): number | null {
  const newest = [...delayed].toSorted((a, b) => a.delayedId - b.delayedId).at(-1);
  return newest === undefined ? null : delayedSinceMs(newest);
}
