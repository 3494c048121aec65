/** The tables of the unsharded file together, and what a commit changes in them. */
import { QueueError } from '../../api/errors.ts';
import type { IdRun } from '../../model/id-runs.ts';
import type { QueueId } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { DeliveryTable } from './delivery-table.ts';
import { type EnqueuedRow, type MessageKey, MessageTable } from './message-table.ts';
import { QueueTotals, type TotalChange } from './queue-total-table.ts';
import { RateBaselines } from './rate-baseline-table.ts';
import { UnshardedOutcomeTable } from './unsharded-outcome-table.ts';

export interface UnshardedChange {
  enqueued: EnqueuedRow[];
  consumed: MessageKey[];
  sync: 'FULL' | 'NORMAL';
  /** Of a remote session's transaction: stored with the commit. */
  outcome?: { sessionId: Buffer; transactionNumber: number; instance: number } | undefined;
}

export interface ConsumedMessages {
  holder: number;
  consumed: readonly MessageKey[];
}

/** All methods are called inside a write transaction. */
export class UnshardedTables {
  readonly #file: SqliteFile;
  readonly messages: MessageTable;
  readonly deliveries: DeliveryTable;
  readonly rateBaselines: RateBaselines;
  readonly totals: QueueTotals;
  readonly outcomes: UnshardedOutcomeTable;

  constructor(file: SqliteFile, clock: Clock, queueNameOf: (queueId: QueueId) => string | undefined) {
    this.#file = file;
    this.messages = new MessageTable(file);
    this.deliveries = new DeliveryTable(file);
    this.rateBaselines = new RateBaselines(file, clock, queueNameOf);
    this.totals = new QueueTotals(file);
    this.outcomes = new UnshardedOutcomeTable(file);
  }

  /** Applies one transaction of `holder`; `lastId` is the last id that it may give. Returns the ids that it gave. */
  commit({ enqueued, consumed, outcome }: UnshardedChange, lastId: number, holder: number): IdRun[] {
    const firstId = lastId - enqueued.length + 1;
    this.apply(enqueued, [{ holder, consumed }], firstId);
    const runs = idRunsOf(firstId, enqueued.length);
    this.storeOutcome(outcome, runs);
    return runs;
  }

  /** Stores messages under consecutive ids from `firstId`, deletes consumed ones, and counts both. */
  apply(enqueued: readonly EnqueuedRow[], consumedBy: readonly ConsumedMessages[], firstId: number): void {
    const changes = new Map<QueueId, TotalChange>();
    const changeOf = (queueId: QueueId) => {
      let change = changes.get(queueId);
      if (change === undefined) {
        change = { enqueued: 0, consumed: 0, checksumSum: 0 };
        changes.set(queueId, change);
      }
      return change;
    };
    if (enqueued.length > 0) {
      const checksums = this.messages.insert(enqueued, firstId);
      for (const [index, { queueId }] of enqueued.entries()) {
        const change = changeOf(queueId);
        change.enqueued += 1;
        change.checksumSum += checksums[index]!;
      }
    }
    for (const { holder, consumed } of consumedBy) {
      for (const { queueId, crc } of consumed) {
        const change = changeOf(queueId);
        change.consumed += 1;
        change.checksumSum -= crc;
      }
      for (const range of consumedRangesOf(consumed)) this.#remove(range, holder);
    }
    for (const [queueId, change] of changes) {
      this.rateBaselines.advanceBeforeCommit(queueId);
      this.totals.add(queueId, change);
    }
  }

  #remove(range: ConsumedRange, holder: number): void {
    const count = range.endId - range.firstId;
    const held = this.deliveries.removeRange(range, holder);
    if (held === count && this.messages.removeRange(range.firstId, range.endId) === count) return;
    throw new QueueError('STORAGE_FAILED', {
      message: `Of the messages from ${range.firstId} on, ${count} were to be consumed and this process holds ${held}`,
    });
  }

  /** Of a sealed queue all but the seal. */
  deleteQueue(queueId: QueueId): void {
    this.#file.prepare('DELETE FROM message WHERE queue_id = ?').run(queueId);
    this.#file.prepare('DELETE FROM delivery WHERE queue_id = ?').run(queueId);
    this.#file.prepare('DELETE FROM queue_total WHERE queue_id = ? AND sealed_at IS NULL').run(queueId);
    this.#file
      .prepare('UPDATE queue_total SET consumed = enqueued, checksum_sum = 0 WHERE queue_id = ?')
      .run(queueId);
    this.#file.prepare('DELETE FROM rate_baseline WHERE queue_id = ?').run(queueId);
  }

  /** Reads all deliveries. */
  heldBy(holder: number): { queueId: QueueId; id: number }[] {
    return this.#file
      .prepare('SELECT queue_id AS queueId, id FROM delivery WHERE holder = ?')
      .all(holder) as { queueId: QueueId; id: number }[];
  }

  storeOutcome(outcome: UnshardedChange['outcome'], enqueuedIdRuns: readonly IdRun[]): void {
    if (outcome === undefined) return;
    const { sessionId, transactionNumber, instance } = outcome;
    this.outcomes.store(instance, { sessionId, transactionNumber, enqueuedIdRuns });
  }
}

/** Empty if nothing was enqueued. */
export function idRunsOf(firstId: number, count: number): IdRun[] {
  return count === 0 ? [] : [{ shard: 0, firstSeq: firstId, count }];
}

interface ConsumedRange {
  queueId: QueueId;
  firstId: number;
  endId: number;
}

/** Joins consecutive ids of one queue into ranges, as they were delivered. */
function consumedRangesOf(consumed: readonly MessageKey[]): ConsumedRange[] {
  const runs: ConsumedRange[] = [];
  for (const { queueId, id } of consumed) {
    const last = runs.at(-1);
    if (last?.queueId === queueId && last.endId === id) last.endId += 1;
    else runs.push({ queueId, firstId: id, endId: id + 1 });
  }
  return runs;
}
