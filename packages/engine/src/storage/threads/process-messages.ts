/** Messages between the session thread and the writer process, in frames (`process-frames.ts`). */
import { QueueError, type QueueErrorCode } from '../../api/errors.ts';
import type { AppliedWork } from '../../model/applied-groups.ts';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import type { CommitAnswer, Group, StatementAnswer } from '../../model/group-message.ts';
import type { Epoch, GroupNumber, Pid } from '../../model/ids.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import type { SegmentRow } from '../redo/segment-files.ts';

/** Standard input and output of the writer process. */
export const inputDescriptor = 0;
export const outputDescriptor = 1;

/** The first request: the process opens the file without raising the epoch, which is that of this opening. */
export interface OpenRequest {
  kind: 'open';
  path: string;
  emulatedSync: EmulatedSync;
  logBytesMax: number;
  /** The process that the request comes from. */
  parentPid: Pid;
  epoch: Epoch;
}

/** A group with statements, or one that commits those before it. The frame's body has the bytes of the group's buffer. */
export interface GroupRequest {
  kind: 'group';
  group: Omit<Group, 'buffer'>;
  /** Transactions with statements that are known to fail, by index: they are not run. */
  failed: ReadonlyMap<number, StorageFailure>;
  /**
   * Requests an announcement of each transaction before its statements run, because a process has ended while running this group
   * and it is unknown in which transaction.
   */
  announce: boolean;
}

export type WriterProcessRequest =
  | OpenRequest
  /** Write the groups of the redo log up to this one to the tables: they are durable. Not while statements wait for their group. */
  | { kind: 'apply'; through: GroupNumber }
  | { kind: 'add segment'; segment: SegmentRow }
  | GroupRequest
  | { kind: 'statement'; statement: SqlStatement }
  /** Undoes the statements since the last group. Has no answer. */
  | { kind: 'release' }
  | { kind: 'close' };

export type WriterProcessReply =
  /** `lastGroup` is the last group in the tables. */
  | { kind: 'opened'; lastGroup: GroupNumber; cpuUs: number }
  | { kind: 'not opened'; failure: StorageFailure }
  /** The partitions that cannot be used came with `committing`. */
  | { kind: 'applied'; cpuUs: number; through: GroupNumber; work: AppliedWork }
  | { kind: 'segment added' }
  /** Answers `apply` or `add segment`. */
  | { kind: 'failed'; failure: StorageFailure }
  /**
   * Statements of this transaction of the oldest group begin to run; sent only on request, because it costs 20 µs. Transaction 0:
   * the oldest request is a single statement, and that begins to run.
   */
  | { kind: 'running'; transaction: number }
  /** The content of the oldest request's answer, sent ahead because the process might end between the commit and the answer. */
  | ({ kind: 'committing' } & Pick<CommitAnswer, 'unusablePartitions' | 'sqlOutcomes'>)
  /** The process kills itself because of the running transaction of the oldest group, or the running single statement. */
  | { kind: 'killing'; transaction: number; code: QueueErrorCode; details: Record<string, unknown> }
  /** What else it answers came with `committing`. */
  | ({ kind: 'group'; cpuUs: number } & Omit<CommitAnswer, 'unusablePartitions' | 'sqlOutcomes'>)
  | ({ kind: 'statement' } & StatementAnswer)
  /** The file took its last group: the instance must end. Answers no request. */
  | { kind: 'file failed'; failure: StorageFailure }
  | { kind: 'closed' };

/** Fails one transaction, and leaves its group as it is. */
export function transactionFailure(
  code: QueueErrorCode,
  details: Record<string, unknown> = {},
): StorageFailure {
  return { code, message: new QueueError(code).message, details, fatal: false };
}
