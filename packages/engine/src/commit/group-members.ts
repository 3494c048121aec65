/**
 * The members of a group: chooses the pending ones for the next group, and resumes the callers of a durable group in the order of
 * their commits, a bounded number in each turn of the event loop. After a slow sync hundreds of callers have waited for the same
 * group; resuming all of them in one turn would keep timers and sockets waiting for tens of milliseconds.
 */
import { limits } from '../api/limits.ts';
import type { WaitEvent } from '../api/waits.ts';
import {
  logFileSwitch,
  logFileSync,
  partitionMaintenance,
  writerReservation,
} from '../model/commit-waits.ts';
import type { GroupResult } from '../model/group-message.ts';
import type { Timers } from '../model/ports.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { FailedMembers, PendingMember } from './group.ts';
import type { GroupMember } from './system-write.ts';
import type { WriterReservation } from './writer-reservation.ts';

/** Takes as many pending members as fit one group: at least one. An exclusive member gets a group of its own. */
export function takeMembers(pending: PendingMember[]): PendingMember[] {
  let bytes = 0;
  let count = 0;
  let withStatements = 0;
  for (const member of pending) {
    const { content } = member;
    bytes += content.bytes;
    if (content.sql !== undefined) {
      // Killing a statement also undoes the statements executed under the reservation, and those cannot be repeated.
      if (hasReservation(pending[0])) break;
      withStatements += 1;
    }
    if (count > 0 && (bytes > limits.groupBytesMax || isExclusive(member))) break;
    if (withStatements > limits.sqlTransactionsPerGroupMax) break;
    count += 1;
    if (count === 1 && isExclusive(member)) break;
  }
  return pending.splice(0, count);
}

/** Whether it has a group, or the writer, for itself. */
export function isExclusive(member: PendingMember | undefined): boolean {
  return member?.content.kind === 'system write' && member.content.exclusive;
}

/** Whether it is the transaction of the session that reserved the writer. */
export function hasReservation(member: PendingMember | undefined): boolean {
  return member?.content.kind === 'transaction' && member.content.reservation !== undefined;
}

/** The session that has reserved the writer, if any, and for how long reservations have kept other members waiting. */
export class CurrentReservation {
  #holder: WriterReservation | undefined;
  #sinceMs = 0;
  /** Total time of reservations that have ended. */
  #endedMs = 0;

  get isActive(): boolean {
    return this.#holder !== undefined;
  }

  isOf(reservation: WriterReservation | undefined): boolean {
    return reservation !== undefined && reservation === this.#holder;
  }

  begin(holder: WriterReservation, nowMs: number): void {
    this.#holder = holder;
    this.#sinceMs = nowMs;
  }

  end(nowMs: number): void {
    this.#endedMs = this.totalMsAt(nowMs);
    this.#holder = undefined;
  }

  /** Total time of all reservations. */
  totalMsAt(nowMs: number): number {
    return this.#endedMs + (this.#holder === undefined ? 0 : nowMs - this.#sinceMs);
  }
}

/** A part of the wait for a group that is no wait for its write. */
export interface WaitPart {
  event: WaitEvent;
  ms: number;
}

const noParts: readonly WaitPart[] = [];

export function waitPartsOf({ maintenanceMs, switchMs }: Pick<GroupResult, 'maintenanceMs' | 'switchMs'>) {
  if (maintenanceMs === 0 && switchMs === 0) return noParts;
  const parts: WaitPart[] = [];
  if (maintenanceMs > 0) parts.push({ event: partitionMaintenance, ms: maintenanceMs });
  if (switchMs > 0) parts.push({ event: logFileSwitch, ms: switchMs });
  return parts;
}

interface WaitingCaller {
  resume(): void;
  operations: number;
}

export class CallerResumption {
  /** Commits in durable groups since the instance opened. */
  commits = 0;
  #waiting: WaitingCaller[] = [];
  #nextIndex = 0;
  #scheduled = false;
  readonly #timers: Timers;
  readonly #waits: WaitRecorder;
  readonly #onAllResumed: () => void;

  /** `onAllResumed` is called when it took several turns to resume all callers. */
  constructor({ timers, waits }: { timers: Timers; waits: WaitRecorder }, onAllResumed: () => void) {
    this.#timers = timers;
    this.#waits = waits;
    this.#onAllResumed = onAllResumed;
  }

  get pending(): boolean {
    return this.#scheduled;
  }

  /**
   * Ends the waits of a durable group's members and sets their results; `start` then resumes the callers. `parts`: what of the wait for the
   * group was something else than its write and sync.
   */
  settle(
    members: readonly PendingMember[],
    { nowMs, parts, failed }: { nowMs: number; parts: readonly WaitPart[]; failed: FailedMembers },
  ): void {
    for (const member of members) {
      const { content, resolve, reject } = member;
      const failure = failed.get(content);
      if (failure !== undefined) reject(failure);
      else if (content.kind === 'system write' && content.background) resolve();
      else {
        this.commits += 1;
        this.#recordWait(member, nowMs, parts);
        this.add(resolve, followUpWork(content));
      }
    }
  }

  #recordWait(
    { content, submittedAtMs, reservedMs }: PendingMember,
    nowMs: number,
    parts: readonly WaitPart[],
  ): void {
    if (content.time !== undefined) {
      const { time } = content;
      if (reservedMs > 0) time.reassign(writerReservation, reservedMs);
      for (const { event, ms } of parts) time.reassign(event, ms);
      time.end();
      return;
    }
    const waits = this.#waits;
    let leftMs = nowMs - submittedAtMs - reservedMs;
    if (reservedMs > 0) waits.record(writerReservation, reservedMs);
    for (const { event, ms } of parts) {
      const partMs = Math.min(ms, leftMs);
      waits.record(event, partMs);
      leftMs -= partMs;
    }
    waits.record(logFileSync, leftMs);
  }

  /** `operations`: an estimate of how much the caller does next. */
  add(resume: () => void, operations: number): void {
    this.#waiting.push({ resume, operations });
  }

  /** Call it once all callers of a group are added. */
  start(): void {
    if (!this.#scheduled) this.#resumeSome();
  }

  readonly #resumeSome = (): void => {
    const tookSeveralTurns = this.#scheduled;
    this.#scheduled = false;
    for (let operations = 0; this.#nextIndex < this.#waiting.length; ) {
      if (operations >= limits.resumedOperationsPerTurnMax) {
        this.#scheduled = true;
        this.#timers.nextTurn(this.#resumeSome);
        return;
      }
      const waiting = this.#waiting[this.#nextIndex]!;
      this.#nextIndex += 1;
      operations += waiting.operations;
      waiting.resume();
    }
    this.#waiting = [];
    this.#nextIndex = 0;
    if (tookSeveralTurns) this.#onAllResumed();
  };
}

/**
 * Estimates how many operations the caller of a commit does next: as many as it has just committed. For a remote session only an
 * answer is written, so all answers of a group leave in one turn and share one write.
 */
function followUpWork(content: GroupMember): number {
  if (content.kind === 'transaction' && content.outcome !== undefined) return 1;
  const { runs, deliveries } = content;
  let operations = 0;
  for (const { count } of runs) operations += count;
  for (const { count } of deliveries) operations += count;
  return operations;
}
