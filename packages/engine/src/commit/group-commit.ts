/**
 * Group commit: transactions that are ready together share one write and one sync. While a group syncs the next one fills, so
 * groups grow with the load and no commit waits for a timer. The changes of a group become visible only when the writer has made
 * them durable.
 *
 * A group's life: its members wait in `#pending`. It closes (messages are numbered and encoded) and is in flight. The writer's
 * answer applies it or undoes it. If it is undone, the groups behind it fail too and their numbers become gaps.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { AppliedGroups, AppliedWork } from '../model/applied-groups.ts';
import {
  commitWriteMs,
  logFileSync,
  logWriteMs,
  logWrites,
  messagesApplied,
  messagesStored,
  tableWriteMs,
  tableWrites,
  writerReservation,
} from '../model/commit-waits.ts';
import type { SeqRange } from '../model/consumption.ts';
import type { GroupResult } from '../model/group-message.ts';
import type { GroupNumber, WriterGeneration } from '../model/ids.ts';
import { type PartitionPool, poolChangeCount } from '../model/partitions.ts';
import type { Clock, Timers } from '../model/ports.ts';
import { fromStorageFailure } from '../model/storage-failure.ts';
import type { HolderSlot, WaitRecorder } from '../model/wait-recorder.ts';
import type { CommitOutcomes } from './commit-outcomes.ts';
import {
  applyGroup,
  type BuiltGroup,
  buildGroup,
  type ConsumptionListener,
  type FailedMembers,
  GroupBuffers,
  type InFlightGroup,
  noneFailed,
  type PendingMember,
} from './group.ts';
import {
  CallerResumption,
  CurrentReservation,
  hasReservation,
  isExclusive,
  takeMembers,
  waitPartsOf,
} from './group-members.ts';
import { instanceFailed, stopReason } from './instance-failure.ts';
import { applySqlResults } from './sql-results.ts';
import type { StagedTransaction } from './staged-transaction.ts';
import { type GroupMember, newSystemWrite, type SystemWriteInput } from './system-write.ts';
import { traceNumbered } from './trace-numbered.ts';
import type { WriterPort } from './writer-port.ts';
import type { WriterReservation } from './writer-reservation.ts';

type DurableTimes = Pick<GroupResult, 'maintenanceMs' | 'switchMs' | 'commitMs'>;

/**
 * A group that is durable and perhaps not in the instance's tables yet. Sessions do not notice, since what they need of it is in memory.
 * Two things wait for the tables: a partition that it empties returns to the pool, since its table still has the old messages; and a
 * read of what it changed (`AppliedReader`).
 */
export type UnappliedGroup = Pick<InFlightGroup, 'groupNumber' | 'message'>;

export interface GroupCommitOptions {
  firstGroupNumber: GroupNumber;
  pool: PartitionPool;
  /** Remembers the transactions of remote sessions. */
  outcomes: CommitOutcomes;
  waits: WaitRecorder;
  clock: Clock;
  timers: Timers;
  writer: Pick<WriterPort, 'send' | 'rollbackReservation'>;
  /** Called after a group became visible, with the logs that got messages. */
  onVisible(logs: Iterable<MessageLog>): void;
  /** Called for a log with an old partition after partitions were assigned, perhaps to this log. */
  onOldPartition(log: MessageLog): void;
  /** Called for a log with drained partitions that are kept for now. */
  onRetained(log: MessageLog): void;
  /** Called when nothing more can be committed until the instance is opened again. */
  onFatal(error: QueueError): void;
}

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #buffers = new GroupBuffers();
  #pending: PendingMember[] = [];
  readonly #inFlight: InFlightGroup[] = [];
  readonly #unapplied: UnappliedGroup[] = [];
  /** The oldest group in flight, which the writer writes. */
  readonly #written: HolderSlot<InFlightGroup>;
  readonly #callerResumption: CallerResumption;
  #gaps = new Map<MessageLog, SeqRange[]>();
  /** Until it ends, only the group with its holder's transaction can close. */
  readonly #reservation = new CurrentReservation();
  #scheduled = false;
  #nextGroupNumber: GroupNumber;
  #generation: WriterGeneration = 0;
  /** After a failure, pool changes wait for the next member: a group with nothing else would fail again and again. */
  #poolRetryPaused = false;
  #fatal: QueueError | undefined;
  #idleListeners: (() => void)[] = [];
  /** Undefined while there is no listener. */
  onConsumed: ConsumptionListener | undefined;
  /** Durable groups since the instance opened. */
  groups = 0;
  /** The groups that were written and synced: the others are relaxed, or had nothing to write. */
  syncs = 0;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#written = options.waits.openHolderSlot(logFileSync, nameOfGroup);
    this.#nextGroupNumber = options.firstGroupNumber;
    this.#callerResumption = new CallerResumption(options, () => {
      if (this.#pending.length > 0 || this.#maintenanceDue) this.schedule();
      else if (this.#inFlight.length === 0) this.#notifyIdle();
    });
  }

  /**
   * Commits a session's transaction. Resolves when it is durable and visible; rejects with the storage error if its group
   * failed, with its own error if one of its statements did.
   */
  commit(transaction: StagedTransaction): Promise<void> {
    return this.#submit(transaction);
  }

  /** Commits what the engine writes on its own account. Resolves and rejects as `commit` does. */
  write(input: SystemWriteInput): Promise<void> {
    return this.#submit(newSystemWrite(input));
  }

  #submit(content: GroupMember): Promise<void> {
    const refusal = this.#refusalOf(content);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const member = this.#newMember(content, resolve, reject);
      if (content.kind === 'transaction' && this.#reservation.isOf(content.reservation)) {
        this.#reservation.end(member.submittedAtMs);
        this.#pending.unshift(member); // others that wait share its group
        this.#closeGroup();
      } else {
        this.#pending.push(member);
        this.schedule();
      }
    });
  }

  #refusalOf({ runs }: GroupMember): QueueError | undefined {
    if (this.#fatal !== undefined) return this.#fatal;
    if (runs.length === 0 || this.#options.pool.hasCapacity) return undefined;
    return new QueueError('BACKLOG_FULL', { details: { partitionsMax: limits.partitionsMax } });
  }

  #newMember(
    content: GroupMember,
    resolve: () => void,
    reject: (error: QueueError) => void,
    reservation?: WriterReservation,
  ): PendingMember {
    content.time?.begin(logFileSync);
    const submittedAtMs = this.#options.clock.monotonicMs();
    const reservedMs = this.#reservation.totalMsAt(submittedAtMs);
    return { content, reservation, submittedAtMs, reservedMs, resolve, reject };
  }

  /**
   * Resolves when the writer is the caller's alone: nothing is in flight, and no group closes before the caller's commit
   * or `releaseWriter`.
   */
  reserveWriter(reservation: WriterReservation): Promise<void> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    return new Promise((resolve, reject) => {
      this.#pending.push(this.#newMember(reservationTurn, resolve, reject, reservation));
      this.schedule();
    });
  }

  /** Ends a reservation without a commit. Does nothing if it has ended already. */
  releaseWriter(reservation: WriterReservation): void {
    if (!this.#reservation.isOf(reservation) || this.#fatal !== undefined) return;
    this.#reservation.end(this.#options.clock.monotonicMs());
    this.#options.writer.rollbackReservation();
    if (this.#pending.length > 0 || this.#maintenanceDue) this.schedule();
    else this.#notifyIdle();
  }

  /** Closes a group at the end of this turn of the event loop, so that all that commit in it share the group. */
  schedule(): void {
    if (this.#scheduled || this.#fatal !== undefined || this.#reservation.isActive) return;
    if (this.#inFlight.length >= limits.groupsInFlightMax || this.#awaitingRefusals) return;
    if (isExclusive(this.#inFlight[0]?.members[0])) return;
    // While the writer has work, the next group waits for what all resumed callers commit next.
    if (this.#inFlight.length > 0 && this.#callerResumption.pending) return;
    this.#scheduled = true;
    this.#options.timers.nextTurn(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#scheduled = false;
    this.#closeGroup();
  };

  /** Commits in durable groups since the instance opened. */
  get commits(): number {
    return this.#callerResumption.commits;
  }

  /** Why nothing more can be committed; from then on it is unknown whether the last groups are in the file. */
  get failure(): QueueError | undefined {
    return this.#fatal;
  }

  /** Nothing is pending, in flight or reserved. */
  get isIdle(): boolean {
    return this.#inFlight.length + this.#pending.length === 0 && !this.#reservation.isActive;
  }

  /** Resolves when nothing is pending or in flight, and all callers are resumed. */
  async whenIdle(): Promise<void> {
    while (!this.#fatal && (!this.isIdle || this.#maintenanceDue || this.#callerResumption.pending)) {
      this.schedule();
      await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
    }
  }

  /** Groups behind a failed one are not answered yet: until then it is not known which numbers become gaps. */
  get #awaitingRefusals(): boolean {
    return this.#inFlight.some((group) => group.generation !== this.#generation);
  }

  get #maintenanceDue(): boolean {
    return this.#options.pool.hasPendingChanges && !this.#poolRetryPaused;
  }

  #closeGroup(): void {
    if (this.#fatal !== undefined || this.#awaitingRefusals || this.#reservation.isActive) return;
    const [first] = this.#pending;
    if (isExclusive(first) && this.#inFlight.length > 0) return; // scheduled again by the next result
    const members = takeMembers(this.#pending);
    const nowMs = this.#options.clock.monotonicMs();
    if (members[0]?.reservation !== undefined) {
      const { reservation, submittedAtMs, resolve } = members[0];
      this.#reservation.begin(reservation, nowMs);
      this.#options.waits.record(writerReservation, nowMs - submittedAtMs);
      resolve();
      return;
    }
    const reservedMs = this.#reservation.totalMsAt(nowMs);
    for (const member of members) member.reservedMs = reservedMs - member.reservedMs;
    if (members.length === 0 && !this.#maintenanceDue) {
      this.#notifyIdle();
      return;
    }
    let built: BuiltGroup;
    try {
      built = buildGroup({
        members: members.map((member) => member.content),
        gaps: this.#gaps,
        pool: this.#options.pool,
        buffers: this.#buffers,
        outcomes: this.#options.outcomes,
      });
      for (const [log, numbered] of built.numberedRanges) log.assertNumbered(numbered);
      for (const cursor of built.consumed.keys()) cursor.assertConsistent();
    } catch (error) {
      // Logs are numbered, perhaps in part, which cannot be undone in memory. The file is unchanged.
      this.fail(stopReason(error), members);
      return;
    }
    const gaps = this.#gaps;
    this.#gaps = new Map();
    const groupNumber = this.#nextGroupNumber;
    const generation = this.#generation;
    const group: InFlightGroup = { ...built, gaps, groupNumber, generation, members };
    this.#nextGroupNumber += 1;
    for (const { content } of members) {
      for (const run of content.runs)
        if (content.kind === 'system write' || run.log.tracesNew(run.firstSeq, run.count))
          traceNumbered(content, run, group);
    }
    // Messages of nonpersistent queues are not written, nor is the outcome of a transaction that has no others.
    const hasWrites = !isEmptyMessage(built.message) || hasReservation(members[0]);
    if (!hasWrites && this.#inFlight.length === 0) {
      group.outcomes?.onAppliedInMemory();
      this.#tryApply(group, { maintenanceMs: 0, switchMs: 0, commitMs: 0 }, noneFailed);
      if (this.#pending.length === 0) this.#notifyIdle();
    } else {
      this.#inFlight.push(group);
      if (this.#inFlight.length === 1) this.#written.setHolder(group);
      this.#options.writer.send({ kind: 'group', groupNumber, generation, ...built.message });
    }
    if (this.#pending.length > 0) this.schedule();
  }

  /** The writer's answer to the oldest group in flight. */
  onResult(result: GroupResult): void {
    const group = this.#inFlight.shift();
    this.#written.setHolder(this.#inFlight[0]);
    if (group === undefined || group.groupNumber !== result.groupNumber) {
      const message = `The writer answered group ${result.groupNumber} out of turn`;
      this.fail(new QueueError('INSTANCE_FAILED', { message }));
      return;
    }
    if (result.failure === null) {
      if (group.message.sync === 'FULL') this.syncs += 1;
      const failed =
        group.sql.size === 0 ? noneFailed : applySqlResults([...group.sql.keys()], result.sqlOutcomes);
      group.outcomes?.onDurable(group.groupNumber, failed);
      this.#unapplied.push({ groupNumber: group.groupNumber, message: group.message });
      this.onApplied({ through: result.appliedThrough, unusablePartitions: result.unusablePartitions });
      this.#tryApply(group, result, failed);
    } else if (result.failure.fatal) this.fail(fromStorageFailure(result.failure), group.members);
    else this.#undoGroup(group, fromStorageFailure(result.failure));
    if (this.#pending.length > 0 || this.#maintenanceDue) this.schedule();
    if (this.#inFlight.length === 0 && this.#pending.length === 0) this.#notifyIdle();
  }

  /** The tables have groups that were durable before. */
  onApplied({ through, unusablePartitions }: AppliedGroups, work?: AppliedWork): void {
    const end = this.#unapplied.findIndex(({ groupNumber }) => groupNumber > through);
    for (const { message } of this.#unapplied.splice(0, end < 0 ? this.#unapplied.length : end))
      this.#options.pool.onApplied(message.poolChanges, unusablePartitions);
    if (work === undefined) return;
    const { waits } = this.#options;
    waits.add(tableWrites, work.transactions);
    waits.add(tableWriteMs, work.ms);
    waits.add(messagesApplied, work.messages);
    waits.add(messagesStored, work.storedMessages);
  }

  /** In the order of their numbers. */
  get unapplied(): readonly UnappliedGroup[] {
    return this.#unapplied;
  }

  #notifyIdle(): void {
    const idle = this.#idleListeners;
    this.#idleListeners = [];
    for (const resolve of idle) resolve();
  }

  /** A bug found while a durable group is applied stops the instance: its memory no longer matches its file. */
  #tryApply(group: InFlightGroup, times: DurableTimes, failed: FailedMembers): void {
    try {
      this.#applyGroup(group, times, failed);
      for (const log of group.numberedRanges.keys()) log.assertConsistent();
      for (const cursor of group.consumed.keys()) cursor.assertConsistent();
    } catch (error) {
      this.fail(stopReason(error), group.members);
    }
  }

  #applyGroup(group: InFlightGroup, times: DurableTimes, failed: FailedMembers): void {
    const { onVisible, onOldPartition, clock, waits } = this.#options;
    const { commitMs } = times;
    const nowMs = clock.monotonicMs();
    this.#poolRetryPaused = false;
    this.groups += 1;
    const { onConsumed } = this;
    const changedLogs = applyGroup(group, { failed, writeMs: commitMs, onConsumed });
    const commits = this.commits;
    this.#callerResumption.settle(group.members, { nowMs, parts: waitPartsOf(times), failed });
    waits.add(logWrites);
    waits.add(logWriteMs, commitMs);
    waits.add(commitWriteMs, commitMs * (this.commits - commits));
    for (const log of changedLogs) this.truncateDrained(log);
    if (group.message.poolChanges.assign.length > 0)
      for (const log of changedLogs) if (log.partitions.hasOld) onOldPartition(log);
    onVisible(group.numberedRanges.keys());
    this.#callerResumption.start();
    if (this.#maintenanceDue) this.schedule();
  }

  /** Has partitions in which everything is terminal emptied, with the next group, unless they are kept for now. */
  truncateDrained(log: MessageLog): void {
    if (!log.persistent) return;
    const { pool, clock, onRetained } = this.#options;
    for (const drained of log.beginTruncatingDrained(clock.monotonicMs())) {
      pool.truncate(drained.id, log.partitions);
    }
    if (log.partitions.retainedUntilMs !== undefined) onRetained(log);
  }

  #undoGroup(group: InFlightGroup, error: QueueError): void {
    this.#poolRetryPaused = true;
    for (const [log, ranges] of group.gaps) this.#keepGaps(log, ranges);
    for (const [log, range] of group.numberedRanges) {
      log.skipGap(...range);
      if (log.persistent) this.#keepGaps(log, [range]);
    }
    this.#options.pool.onFailed(group.message.poolChanges);
    group.outcomes?.onFailed();
    // The first failure of a generation: the groups behind it are refused, those after them may try again.
    if (group.generation === this.#generation) this.#generation += 1;
    for (const { reject } of group.members) reject(error);
  }

  #keepGaps(log: MessageLog, ranges: readonly SeqRange[]): void {
    this.#gaps.set(log, [...(this.#gaps.get(log) ?? []), ...ranges]);
  }

  /**
   * Ends all commits: rejects everything pending or in flight with `INSTANCE_FAILED`. Whether a group in flight is durable
   * is known only once the instance is opened again.
   */
  fail(cause: QueueError, members: readonly PendingMember[] = []): void {
    if (this.#fatal !== undefined) {
      for (const { reject } of members) reject(this.#fatal);
      return;
    }
    const error = instanceFailed(cause);
    this.#fatal = error;
    const lost = [...members, ...this.#inFlight.flatMap((group) => group.members), ...this.#pending];
    this.#inFlight.length = 0;
    this.#written.setHolder(undefined);
    this.#pending = [];
    for (const { reject } of lost) reject(error);
    this.#options.onFatal(error);
    this.#notifyIdle();
  }
}

function isEmptyMessage(message: BuiltGroup['message']): boolean {
  const { blocks, consumptionDeltas, tableWrites, sqlTransactions, poolChanges } = message;
  const contents = blocks.length + consumptionDeltas.length + tableWrites.length + sqlTransactions.length;
  return contents + poolChangeCount(poolChanges) === 0;
}

const nameOfGroup = ({ groupNumber, members: { length } }: InFlightGroup): string =>
  `group ${groupNumber} of ${length} ${length === 1 ? 'transaction' : 'transactions'}`;

/** Stands for a reservation among the pending members: it has the writer for itself. */
const reservationTurn = newSystemWrite({ sync: 'FULL', exclusive: true });
