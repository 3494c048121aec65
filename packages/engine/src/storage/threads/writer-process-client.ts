/**
 * The session thread's side of the writer process, which has the instance's file from the application's first statement on: it applies
 * the redo log, and commits the groups with statements. A statement that takes too much time or memory is killed with its process.
 * SQLite discards the uncommitted work of that process, and the next process does the same again, without the statement at fault.
 *
 * It owns the requests without an answer, in order; each gets one answer, however many processes that takes. A group is never
 * written twice: a new process reports the last group in the file.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import type { CommitAnswer, Group, StatementAnswer } from '../../model/group-message.ts';
import type { GroupNumber, PartitionId } from '../../model/ids.ts';
import type { ChildProcess, InstancePorts } from '../../model/ports.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure, type StorageFailure } from '../../model/storage-failure.ts';
import { programFile } from '../../program-files.ts';
import type { SegmentRow } from '../redo/segment-files.ts';
import { type Applier, TransientFailure } from './applier.ts';
import { encodeFrame, FrameSplitter } from './process-frames.ts';
import {
  type GroupRequest,
  type OpenRequest,
  transactionFailure,
  type WriterProcessReply,
  type WriterProcessRequest,
} from './process-messages.ts';

interface PendingGroup extends Pick<GroupRequest, 'announce'> {
  kind: 'group';
  group: Group;
  failed: Map<number, StorageFailure>;
  /** It commits statements that were executed before it. */
  continuesTransaction: boolean;
  /** Sent to a process. If that process has ended, the next one finds out from the file whether the group was committed. */
  sent: boolean;
  /** The answer for the group once it is committed. */
  committing: Pick<CommitAnswer, 'unusablePartitions' | 'sqlOutcomes'>;
  answer: PromiseWithResolvers<CommitAnswer>;
}

interface PendingStatement {
  kind: 'statement';
  statement: SqlStatement;
  sent: boolean;
  answer: PromiseWithResolvers<StatementAnswer>;
}

interface PendingApply {
  kind: 'apply';
  through: GroupNumber;
  sent: boolean;
  /** Of the groups that are applied, by this process or the one before it. */
  unusablePartitions: PartitionId[];
  answer: PromiseWithResolvers<AppliedGroups & { work: AppliedWork }>;
}

interface PendingSegment {
  kind: 'add segment';
  segment: SegmentRow;
  sent: boolean;
  answer: PromiseWithResolvers<void>;
}

type PendingRequest = PendingGroup | PendingStatement | PendingApply | PendingSegment;

export interface WriterProcessOptions extends Omit<OpenRequest, 'kind' | 'parentPid'> {
  ports: Pick<InstancePorts, 'clock' | 'processes'>;
  /** Resolves when the former applier has answered all its requests and closed the file. */
  handOver: Promise<void>;
  /** Nothing more is written: the file or the process cannot be relied on. */
  onFatal(error: QueueError): void;
}

/** All transactions of a group but the last are done within the first limit. */
const statementsMsMax = 2 * limits.sqlExecutionMsMax + limits.sqlKillGraceMs;

const noneCommitting = { unusablePartitions: [], sqlOutcomes: [] };
const noTimes = { maintenanceMs: 0, commitMs: 0 };

export class WriterProcess implements Applier {
  readonly #options: WriterProcessOptions;
  readonly #pending: PendingRequest[] = [];
  #process: ChildProcess | undefined;
  /** The process has the file open. */
  #isOpen = false;
  /** The former applier has closed the file. */
  #handedOver = false;
  /** Statements were executed that no group has committed. */
  #transactionOpen = false;
  /** Not null: those statements ended with their process, for this reason. */
  #lostTransaction: StorageFailure | null = null;
  /** The transaction of the oldest group whose statements run, if the process has announced it; 0 for a single statement. */
  #runningTransaction: number | undefined;
  /** Why the process kills itself. */
  #killing: StorageFailure | undefined;
  /** Ends in a row without an answer in between, and without a statement that was at fault. */
  #unexplainedEnds = 0;
  #answeredAtMs: number;
  #closed: PromiseWithResolvers<void> | undefined;
  #ended = false;
  #cpuUsOfEarlierProcesses = 0;
  #cpuUsOfProcess = 0;

  constructor(options: WriterProcessOptions) {
    this.#options = options;
    this.#answeredAtMs = options.ports.clock.monotonicMs();
    this.#start();
    void options.handOver.then(() => {
      this.#handedOver = true;
      this.#open();
    });
  }

  get cpuUs(): number {
    return this.#cpuUsOfEarlierProcesses + this.#cpuUsOfProcess;
  }

  /**
   * Milliseconds without a sign of life while an answer is due. Statements may run as long as they may: their time does not
   * count, as it is bounded already.
   */
  get silentMs(): number {
    const oldest = this.#pending[0];
    if (oldest === undefined) return 0;
    const silentMs = this.#options.ports.clock.monotonicMs() - this.#answeredAtMs;
    const runsStatements = oldest.kind === 'statement' || oldest.kind === 'group';
    return runsStatements ? Math.max(0, silentMs - statementsMsMax) : silentMs;
  }

  /** Statements were executed that the next group commits. */
  get hasOpenTransaction(): boolean {
    return this.#transactionOpen;
  }

  apply(through: GroupNumber): Promise<AppliedGroups & { work: AppliedWork }> {
    const answer = Promise.withResolvers<AppliedGroups & { work: AppliedWork }>();
    return this.#add({ kind: 'apply', through, sent: false, unusablePartitions: [], answer });
  }

  addSegment(segment: SegmentRow): Promise<void> {
    const answer = Promise.withResolvers<void>();
    return this.#add({ kind: 'add segment', segment, sent: false, answer });
  }

  /**
   * Commits a group with statements, or one that commits those that were executed before it. The tables must have every durable group
   * before it. Rejects if the writer has stopped.
   */
  commit(group: Group): Promise<CommitAnswer> {
    const failure = this.#lostTransaction;
    if (failure !== null) {
      this.rollbackReservation();
      return Promise.resolve({ failure, ...noneCommitting, ...noTimes });
    }
    const continuesTransaction = this.#transactionOpen;
    this.#endTransaction();
    return this.#add({
      kind: 'group',
      group,
      failed: new Map(),
      announce: false,
      continuesTransaction,
      sent: false,
      committing: noneCommitting,
      answer: Promise.withResolvers<CommitAnswer>(),
    });
  }

  /** Runs a statement of the session that reserved the writer; one at a time. Rejects if the writer has stopped. */
  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#lostTransaction !== null) return Promise.resolve(undoneAnswer(this.#lostTransaction));
    this.#transactionOpen = true;
    return this.#add({ kind: 'statement', statement, sent: false, answer: Promise.withResolvers() });
  }

  /** Undoes the statements since the last group. Has no answer. */
  rollbackReservation(): void {
    this.#endTransaction();
    if (this.#isOpen) this.#request({ kind: 'release' });
  }

  #endTransaction(): void {
    this.#transactionOpen = false;
    this.#lostTransaction = null;
  }

  /** Resolves when the file is closed and the process is gone. */
  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    if (this.#process === undefined) this.#closed.resolve();
    else if (this.#ended) this.#process.kill();
    else if (this.#isOpen) this.#request({ kind: 'close' });
    this.#process?.keepAlive(true);
    return this.#closed.promise;
  }

  #add<Answer>(pending: PendingRequest & { answer: PromiseWithResolvers<Answer> }): Promise<Answer> {
    if (this.#ended) return Promise.reject(new QueueError('INSTANCE_FAILED'));
    if (this.#pending.length === 0) this.#answeredAtMs = this.#options.ports.clock.monotonicMs();
    this.#pending.push(pending);
    if (this.#process === undefined) this.#start();
    else if (this.#isOpen) this.#sendPending(pending);
    this.#process?.keepAlive(true);
    return pending.answer.promise;
  }

  #start(): void {
    const splitter = new FrameSplitter();
    this.#process = this.#options.ports.processes.start(programFile('writer-process'), {
      onOutput: (bytes) => {
        for (const message of splitter.push(bytes)) this.#onReply(message as WriterProcessReply);
      },
      onEnded: (reason) => this.#onProcessEnded(reason),
    });
    this.#process.keepAlive(this.#pending.length > 0);
    if (this.#handedOver) this.#open();
  }

  #open(): void {
    if (this.#process === undefined) return; // ended before the former applier: the next request starts another
    const { path, emulatedSync, logBytesMax, epoch, ports } = this.#options;
    const parentPid = ports.processes.self.pid;
    this.#request({ kind: 'open', path, emulatedSync, logBytesMax, parentPid, epoch });
  }

  #request(request: WriterProcessRequest, body?: Uint8Array): void {
    this.#process?.write(encodeFrame(request, body));
  }

  #sendPending(pending: PendingRequest): void {
    pending.sent = true;
    switch (pending.kind) {
      case 'apply':
        this.#request({ kind: 'apply', through: pending.through });
        break;
      case 'add segment':
        this.#request({ kind: 'add segment', segment: pending.segment });
        break;
      case 'statement':
        this.#request({ kind: 'statement', statement: pending.statement });
        break;
      case 'group': {
        const { failed, announce } = pending;
        const { buffer, ...group } = pending.group;
        this.#request(
          { kind: 'group', group, failed, announce },
          new Uint8Array(buffer, 0, usedBytesOf(pending.group)),
        );
      }
    }
  }

  #onReply(reply: WriterProcessReply): void {
    if (this.#ended) return;
    this.#answeredAtMs = this.#options.ports.clock.monotonicMs();
    switch (reply.kind) {
      case 'opened':
        this.#cpuUsOfProcess = reply.cpuUs;
        this.#onOpened(reply.lastGroup);
        break;
      case 'not opened':
        if (reply.failure.fatal) this.#fail(fromStorageFailure(reply.failure));
        break;
      case 'applied': {
        this.#cpuUsOfProcess = reply.cpuUs;
        const { unusablePartitions, answer } = this.#takeOldest<PendingApply>();
        answer.resolve({ through: reply.through, unusablePartitions, work: reply.work });
        break;
      }
      case 'segment added':
        this.#takeOldest<PendingSegment>().answer.resolve();
        break;
      case 'failed': {
        const { failure } = reply;
        const error = failure.fatal ? fromStorageFailure(failure) : new TransientFailure(failure);
        this.#takeOldest().answer.reject(error);
        break;
      }
      case 'running':
        this.#runningTransaction = reply.transaction;
        break;
      case 'committing': {
        this.#runningTransaction = undefined;
        const { unusablePartitions, sqlOutcomes } = reply;
        const oldest = this.#pending[0];
        if (oldest?.kind === 'group') oldest.committing = { unusablePartitions, sqlOutcomes };
        else if (oldest?.kind === 'apply') oldest.unusablePartitions.push(...unusablePartitions);
        break;
      }
      case 'killing':
        this.#runningTransaction = reply.transaction;
        this.#killing = transactionFailure(reply.code, reply.details);
        break;
      case 'group':
        this.#runningTransaction = undefined;
        this.#cpuUsOfProcess = reply.cpuUs;
        answerGroup(this.#takeOldest(), reply);
        break;
      case 'statement':
        this.#runningTransaction = undefined;
        this.#takeOldest<PendingStatement>().answer.resolve(reply);
        break;
      case 'file failed':
        this.#fail(fromStorageFailure(reply.failure));
        break;
      case 'closed': // its end follows
    }
    if (this.#closed === undefined) this.#process?.keepAlive(this.#pending.length > 0);
  }

  /** The oldest request, which is answered. */
  #takeOldest<Kind extends PendingRequest = PendingRequest>(): Kind {
    this.#unexplainedEnds = 0;
    return this.#pending.shift() as Kind;
  }

  /** A process has the file open, perhaps after another that had already committed the oldest group. */
  #onOpened(lastGroup: GroupNumber): void {
    const [oldest] = this.#pending;
    if (oldest?.kind === 'group' && oldest.sent) {
      const isCommitted = oldest.group.groupNumber <= lastGroup;
      if (isCommitted || oldest.continuesTransaction) {
        const failure = isCommitted ? null : endedFailure('STORAGE_FAILED');
        answerGroup(this.#takeOldest(), { failure, ...noTimes });
      } else oldest.committing = noneCommitting;
    }
    for (const pending of this.#pending) this.#sendPending(pending);
    this.#isOpen = true;
    if (this.#closed !== undefined) this.#request({ kind: 'close' });
  }

  #onProcessEnded(reason: string): void {
    const killing = this.#killing;
    const runningTransaction = this.#runningTransaction;
    this.#process = undefined;
    this.#isOpen = false;
    this.#killing = undefined;
    this.#runningTransaction = undefined;
    this.#cpuUsOfEarlierProcesses += this.#cpuUsOfProcess;
    this.#cpuUsOfProcess = 0;
    this.#closed?.resolve();
    if (this.#ended || this.#closed !== undefined) return;
    const oldest = this.#pending[0];
    if (oldest?.kind === 'statement' && oldest.sent) {
      this.#pending.shift();
      const statementRan = killing !== undefined || runningTransaction !== undefined;
      if (!statementRan) this.#unexplainedEnds += 1;
      this.#lostTransaction = killing ?? endedFailure(statementRan ? 'SQL_FAILED' : 'STORAGE_FAILED', reason);
      oldest.answer.resolve(undoneAnswer(this.#lostTransaction));
    } else if (oldest?.kind === 'group' && runningTransaction !== undefined)
      failTransaction(oldest, runningTransaction, killing ?? endedFailure('SQL_FAILED', reason));
    else {
      if (this.#transactionOpen) this.#lostTransaction ??= endedFailure('STORAGE_FAILED', reason);
      if (oldest?.kind === 'group') oldest.announce = true; // in case a statement ended it, and does so again
      this.#unexplainedEnds += 1;
    }
    if (this.#unexplainedEnds >= limits.writerProcessEndsMax) {
      const message = `The writer's process ended ${this.#unexplainedEnds} times in a row (${reason})`;
      this.#fail(new QueueError('INSTANCE_FAILED', { message, details: { reason } }));
    } else if (this.#pending.length > 0) this.#start();
  }

  #fail(error: QueueError): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const { answer } of this.#pending.splice(0)) answer.reject(error);
    this.#process?.kill();
    this.#options.onFatal(error);
  }
}

function answerGroup(
  { answer, committing }: PendingGroup,
  { failure, maintenanceMs, commitMs }: Pick<CommitAnswer, 'failure' | 'maintenanceMs' | 'commitMs'>,
): void {
  const done = failure === null ? committing : noneCommitting;
  answer.resolve({ failure, ...done, maintenanceMs, commitMs });
}

/** The next process does not run it, nor those behind it if the group has been killed too often. */
function failTransaction(
  { group, failed }: PendingGroup,
  transaction: number,
  failure: StorageFailure,
): void {
  failed.set(transaction, failure);
  if (failed.size < limits.sqlKillsPerGroupMax) return;
  for (let behind = transaction + 1; behind < group.sqlTransactions.length; behind += 1)
    failed.set(behind, transactionFailure('SQL_NOT_RUN'));
}

/** Of a statement that storage has undone, with all of its transaction, or that it has not run. */
export function undoneAnswer(storageFailure: StorageFailure): StatementAnswer {
  return { outcome: { results: [], failure: null }, storageFailure };
}

/** `SQL_FAILED` for the statement that ran, `STORAGE_FAILED` for what ended with it. */
function endedFailure(code: 'SQL_FAILED' | 'STORAGE_FAILED', reason?: string): StorageFailure {
  const what = code === 'SQL_FAILED' ? 'while the statement ran' : 'before the commit';
  return {
    code,
    message: `The process that writes ended ${what}${reason === undefined ? '' : ` (${reason})`}`,
    details: reason === undefined ? {} : { reason },
    fatal: false,
  };
}

/** The buffer is larger than what the group has in it. */
function usedBytesOf({ blocks, consumptionDeltas, sqlTransactions, outcomes }: Group): number {
  let end = outcomes.offset + outcomes.length;
  const parts = [...blocks, ...consumptionDeltas, ...sqlTransactions.flatMap((each) => each.blocks)];
  for (const { offset, length } of parts) end = Math.max(end, offset + length);
  return end;
}
