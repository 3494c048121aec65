/**
 * Writes batches of several processes to the unsharded file in one transaction with one sync: the work of the elected writer
 * of grouped unsharded queues. In a group, returned messages become ready first, then all commits are applied, and then all
 * claims are answered, so a claim gets what a commit of its own group enqueued. Nothing is answered before the sync.
 *
 * A batch that another writer may have written already is `resent`. What its commits did is stored with them, under a session
 * id made of the holder's number, so that nothing is done twice (`docs/decisions/unsharded-grouped.md`).
 */
import { QueueError, type QueueErrorCode } from '../../api/errors.ts';
import type { IdRun } from '../../model/id-runs.ts';
import type { HolderId, QueueId, Seq, TransactionNumber } from '../../model/ids.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { ClaimedRow } from './delivery-table.ts';
import {
  type ClaimBounds,
  consumerKey,
  type HeldMessage,
  heldKey,
  type MessageConsumer,
  type MessageKey,
} from './message-consumer.ts';
import type { EnqueuedRow } from './message-table.ts';
import { UnshardedFile } from './unsharded-file.ts';
import { batchOutcomeInstance, batchSessionId } from './unsharded-outcome-table.ts';
import { type ConsumedMessages, idRunsOf, type UnshardedChange } from './unsharded-tables.ts';

export type WriteOperation =
  | { kind: 'commit'; change: UnshardedChange }
  | ({ kind: 'claim'; consumer: MessageConsumer } & ClaimBounds)
  /** `seen` false: no consumer has seen the messages, so they do not count as delivered. */
  | { kind: 'release'; messages: readonly HeldMessage[]; seen: boolean; sync: 'FULL' | 'NORMAL' }
  | { kind: 'drop'; queueId: QueueId }
  | { kind: 'forget'; sessions: readonly Buffer[] };

/** The writes of one process, in the order of its calls. */
export interface WriteBatch {
  /** Identifies the process in the rows of what it holds. */
  holder: HolderId;
  /** Number of this batch among those of the process. */
  number: TransactionNumber;
  operations: readonly WriteOperation[];
  /** All messages that the process holds; set if an earlier writer may have claimed messages for it and died before answering. */
  onlyHeld?: readonly HeldMessage[];
  /** The process is not the writer: what the batch commits is stored with its number. */
  isRemote: boolean;
  /** An earlier writer may have written it. */
  resent: boolean;
}

/** The result of an operation that succeeded: the ids of a commit's messages, or the messages of a claim. */
export interface DoneOperation {
  failure: undefined;
  ids: IdRun[];
  rows: ClaimedRow[];
}

export type OperationAnswer = DoneOperation | { failure: StorageFailure };

export interface GroupAnswer {
  /** For each batch, one answer for each operation. */
  answers: OperationAnswer[][];
  /** Queues that have got messages which can be claimed. */
  readyQueues: QueueId[];
}

/** The failure of one operation does not affect the others, unless it means that the file cannot be written at all. */
const concernsAll: readonly QueueErrorCode[] = [
  'INSTANCE_FAILED',
  'STORAGE_FULL',
  'LOG_FULL',
  'STORAGE_READ_ONLY',
];

/** Writes a group. Throws only if another process is writing (`UnshardedFile.isBusy`): nothing was done then. */
export function writeGroup(file: UnshardedFile, batches: readonly WriteBatch[]): GroupAnswer {
  try {
    return new GroupTransaction(file, batches).run();
  } catch (error) {
    if (UnshardedFile.isBusy(error)) throw error;
    return writeOneByOne(file, batches, error);
  }
}

/** Finds the operation that cannot be done, and does the others. */
function writeOneByOne(file: UnshardedFile, batches: readonly WriteBatch[], reason: unknown): GroupAnswer {
  const isAll = reason instanceof QueueError && concernsAll.includes(reason.code);
  const count = batches.reduce((sum, { operations }) => sum + operations.length, 0);
  const fail = (error: unknown): OperationAnswer => ({ failure: toStorageFailure(error, file.path) });
  const returnsMessages = batches.some(({ onlyHeld }) => onlyHeld !== undefined);
  if (isAll || (count === 1 && !returnsMessages)) {
    return { answers: batches.map(({ operations }) => operations.map(() => fail(reason))), readyQueues: [] };
  }
  const readyQueues = new Set<QueueId>();
  const writePart = (part: WriteBatch, firstIndex: number): OperationAnswer[] => {
    try {
      const group = new GroupTransaction(file, [part], firstIndex).run();
      for (const queueId of group.readyQueues) readyQueues.add(queueId);
      return group.answers[0]!;
    } catch (error) {
      return part.operations.map(() => fail(error));
    }
  };
  const answers = batches.map(({ onlyHeld, ...batch }) => {
    // Before the operations and by itself: with a later one it would also return what an earlier one has just claimed.
    if (onlyHeld !== undefined) writePart({ ...batch, onlyHeld, operations: [] }, 0);
    return batch.operations.flatMap((operation, index) =>
      // Marked as resent, so that the stored results of the operations before it are kept beside its own.
      writePart({ ...batch, operations: [operation], resent: batch.isRemote }, index),
    );
  });
  return { answers, readyQueues: [...readyQueues] };
}

interface Commit {
  batch: WriteBatch;
  index: number;
  change: UnshardedChange;
  answer: DoneOperation;
}

class GroupTransaction {
  readonly #file: UnshardedFile;
  readonly #batches: readonly WriteBatch[];
  /** Place of the first operation in its batch, which is written in parts. */
  readonly #firstIndex: number;
  /** The stored results of resent batches: for each committed operation its index (stored as the shard) and its ids. */
  readonly #storedRuns = new Map<WriteBatch, readonly IdRun[]>();
  readonly #readyQueues = new Set<QueueId>();

  constructor(file: UnshardedFile, batches: readonly WriteBatch[], firstIndex = 0) {
    this.#file = file;
    this.#batches = batches;
    this.#firstIndex = firstIndex;
  }

  run(): GroupAnswer {
    for (const batch of this.#batches) if (batch.resent) this.#storedRuns.set(batch, this.#readStored(batch));
    const answers = this.#batches.map((batch) =>
      batch.operations.map((): DoneOperation => ({ failure: undefined, ids: [], rows: [] })),
    );
    const commits: Commit[] = [];
    const enqueued: EnqueuedRow[] = [];
    let bytes = 0;
    let sync: 'FULL' | 'NORMAL' = 'NORMAL';
    for (const [at, batch] of this.#batches.entries()) {
      for (const [index, operation] of batch.operations.entries()) {
        if (operation.kind === 'drop') sync = 'FULL';
        if (operation.kind === 'release' && operation.sync === 'FULL') sync = 'FULL';
        if (operation.kind === 'claim' && operation.consumer.countsAttempts === true) sync = 'FULL';
        if (operation.kind !== 'commit') continue;
        const answer = answers[at]![index]!;
        const stored = this.#storedRunOf(batch, index);
        if (stored !== undefined) {
          answer.ids = idRunsOf(stored.firstSeq, stored.count);
          continue;
        }
        const { change } = operation;
        commits.push({ batch, index, change, answer });
        for (const row of change.enqueued) {
          enqueued.push(row);
          bytes += row.record.byteLength;
        }
        bytes += change.consumed.length * 512; // a deleted row changes its page
        if (change.sync === 'FULL') sync = 'FULL';
      }
    }
    const write = (lastId: Seq) => {
      const firstId = lastId - enqueued.length + 1;
      for (const batch of this.#batches) this.#assertHolder(batch);
      this.#releaseReturned();
      const checksums = this.#applyCommits(commits, enqueued, firstId);
      this.#claim(answers);
      return { firstId, checksums };
    };
    const cost = { bytes, messages: enqueued.length };
    const { firstId, checksums } = this.#file.runTransaction(sync, write, cost);
    this.#addRecent(enqueued, firstId, checksums);
    return { answers, readyQueues: [...this.#readyQueues] };
  }

  /** Records of topics are left out: each of their subscribers claims them. */
  #addRecent(enqueued: readonly EnqueuedRow[], firstId: Seq, checksums: readonly number[]): void {
    const { recentRecords } = this.#file.tables;
    for (const [index, { record, routing }] of enqueued.entries())
      if (routing === undefined) recentRecords.add(firstId + index, checksums[index]!, record);
  }

  #readStored({ holder, number }: WriteBatch): readonly IdRun[] {
    const sessionId = batchSessionId(holder);
    const stored = this.#file
      .outcomes(batchOutcomeInstance)
      .find((outcome) => sessionId.equals(outcome.sessionId));
    return stored?.transactionNumber === number ? stored.enqueuedIdRuns : [];
  }

  #storedRunOf(batch: WriteBatch, index: number): IdRun | undefined {
    return this.#storedRuns.get(batch)?.find(({ shard }) => shard === index + this.#firstIndex);
  }

  /** Messages claimed for a dead process would be held for ever. */
  #assertHolder({ holder, isRemote }: WriteBatch): void {
    if (!isRemote || this.#file.hasHolder(holder)) return;
    throw new QueueError('STORAGE_FAILED', { message: `Holder ${holder} has ended and can no longer write` });
  }

  #releaseReturned(): void {
    const { tables } = this.#file;
    for (const { holder, operations, onlyHeld } of this.#batches) {
      if (onlyHeld !== undefined) this.#releaseOthers(holder, onlyHeld);
      for (const operation of operations) {
        if (operation.kind === 'release') {
          for (const message of operation.messages) {
            tables.release(message, holder, operation.seen);
            this.#readyQueues.add(message.queueId);
          }
        } else if (operation.kind === 'drop') tables.deleteQueue(operation.queueId);
        else if (operation.kind === 'forget')
          for (const session of operation.sessions) tables.outcomes.remove(session);
      }
    }
  }

  #releaseOthers(holder: HolderId, held: readonly HeldMessage[]): void {
    const kept = new Set(held.map(heldKey));
    for (const message of this.#file.tables.heldBy(holder)) {
      if (kept.has(heldKey(message))) continue;
      this.#file.tables.release(message, holder, false);
      this.#readyQueues.add(message.queueId);
    }
  }

  /** Returns the checksums of the enqueued rows. */
  #applyCommits(
    commits: readonly Commit[],
    enqueued: readonly EnqueuedRow[],
    firstId: Seq,
  ): readonly number[] {
    if (commits.length === 0) return [];
    const { tables } = this.#file;
    const checksums = tables.apply(enqueued, consumedByHolder(commits), firstId);
    let nextId = firstId;
    const runsOfBatch = new Map<WriteBatch, IdRun[]>();
    for (const { batch, index, change, answer } of commits) {
      const count = change.enqueued.length;
      answer.ids = idRunsOf(nextId, count);
      tables.storeOutcome(change.outcome, answer.ids);
      for (const { queueId } of change.enqueued) this.#readyQueues.add(queueId);
      if (batch.isRemote) {
        const runs = runsOfBatch.get(batch) ?? [...(this.#storedRuns.get(batch) ?? [])];
        runs.push({ shard: index + this.#firstIndex, firstSeq: nextId, count });
        runsOfBatch.set(batch, runs);
      }
      nextId += count;
    }
    for (const [{ holder, number }, enqueuedIdRuns] of runsOfBatch) {
      const outcome = { sessionId: batchSessionId(holder), transactionNumber: number, enqueuedIdRuns };
      tables.outcomes.store(batchOutcomeInstance, outcome);
    }
    return checksums;
  }

  /**
   * Claims of one consumer that follow each other in a batch are answered from one SELECT, in the order of the calls; one with a
   * bound of bytes has its own.
   */
  #claim(answers: readonly DoneOperation[][]): void {
    for (const [at, { holder, operations }] of this.#batches.entries()) {
      for (let index = 0; index < operations.length; ) {
        const first = operations[index]!;
        const end = first.kind === 'claim' ? endOfClaims(operations, index) : index + 1;
        if (first.kind === 'claim') {
          const maxima = operations.slice(index, end).map((each) => (each as typeof first).max);
          const max = maxima.reduce((sum, each) => sum + each, 0);
          const rows = this.#claimRows(first.consumer, { max, bytesMax: first.bytesMax }, holder);
          let from = 0;
          for (const [offset, max] of maxima.entries()) {
            answers[at]![index + offset]!.rows = rows.slice(from, from + max);
            from += max;
          }
        }
        index = end;
      }
    }
  }

  #claimRows(consumer: MessageConsumer, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    const rows = this.#file.tables.claim(consumer, bounds, holder);
    if (rows.length === 0) this.#file.assertAllHeld(consumer);
    return rows;
  }
}

function endOfClaims(operations: readonly WriteOperation[], from: number): number {
  const first = operations[from] as { consumer: MessageConsumer } & ClaimBounds;
  const key = consumerKey(first.consumer);
  let end = from + 1;
  if (first.bytesMax !== undefined) return end;
  for (; end < operations.length; end += 1) {
    const next = operations[end]!;
    if (next.kind !== 'claim' || next.bytesMax !== undefined || consumerKey(next.consumer) !== key) break;
  }
  return end;
}

/** Orders the messages by id, so that one statement deletes neighbours of several sessions. */
function consumedByHolder(commits: readonly Commit[]): ConsumedMessages[] {
  const byHolder = new Map<HolderId, MessageKey[]>();
  for (const { batch, change } of commits) {
    if (change.consumed.length === 0) continue;
    const consumed = byHolder.get(batch.holder);
    if (consumed === undefined) byHolder.set(batch.holder, [...change.consumed]);
    else for (const key of change.consumed) consumed.push(key);
  }
  return [...byHolder].map(([holder, consumed]) => ({
    holder,
    consumed: consumed.sort(inOrderOfRows),
  }));
}

function inOrderOfRows(a: MessageKey, b: MessageKey): number {
  const ofRecipients =
    a.recipient === undefined || b.recipient === undefined
      ? 0
      : a.recipient.subscriber - b.recipient.subscriber || a.recipient.rank - b.recipient.rank;
  return a.queueId - b.queueId || ofRecipients || a.id - b.id;
}
