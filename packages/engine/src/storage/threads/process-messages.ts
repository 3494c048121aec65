/** Messages between the session thread and the writer process, in frames (`process-frames.ts`). */
import { QueueError, type QueueErrorCode } from '../../api/errors.ts';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import type { Group, GroupResult, StatementAnswer, WriterState } from '../../model/group-message.ts';
import type { Epoch, GroupNumber, Pid } from '../../model/ids.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';

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
  state: WriterState;
}

/** The frame's body has the bytes of the group's buffer. */
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
  /** Not null: the group cannot be committed, because statements that it continues are lost. */
  refusal: StorageFailure | null;
}

export type WriterProcessRequest =
  | OpenRequest
  | GroupRequest
  | { kind: 'statement'; statement: SqlStatement }
  /** Undoes the statements since the last group. Has no answer. */
  | { kind: 'release' }
  | { kind: 'close' };

export type WriterProcessReply =
  /** `lastGroup` is the last group in the file. It is exact for groups that were sent to a writer process. */
  | { kind: 'opened'; lastGroup: GroupNumber; cpuUs: number }
  | { kind: 'failed'; failure: StorageFailure }
  /**
   * Statements of this transaction of the oldest group begin to run; sent only on request, because it costs 20 µs. Transaction 0:
   * the oldest request is a single statement, and that begins to run.
   */
  | { kind: 'running'; transaction: number }
  /** The content of the oldest group's answer, sent ahead because the process might end between the commit and the answer. */
  | ({ kind: 'committing' } & Pick<GroupResult, 'unusablePartitions' | 'sqlOutcomes'>)
  /** The process kills itself because of the running transaction of the oldest group, or the running single statement. */
  | { kind: 'killing'; transaction: number; code: QueueErrorCode; details: Record<string, unknown> }
  /** Without the outcomes of statements, which came with `committing`. */
  | GroupResult
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
