/**
 * The session thread's side of the writer process, which writes the instance's file from the application's first statement on. A
 * statement that takes too much time or memory is killed with its process. SQLite discards the uncommitted work of that process,
 * and the next process commits the same groups again, without the statement at fault.
 *
 * It owns the requests without an answer, in order; each gets one answer, however many processes that takes. A group is never
 * written twice: a new process reports the last group in the file.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { Group, GroupResult, StatementAnswer, WriterState } from '../../model/group-message.ts';
import type { GroupNumber } from '../../model/ids.ts';
import type { ChildProcess, InstancePorts } from '../../model/ports.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure, type StorageFailure } from '../../model/storage-failure.ts';
import { programFile } from '../../program-files.ts';
import { encodeFrame, FrameSplitter } from './process-frames.ts';
import {
  type GroupRequest,
  type OpenRequest,
  transactionFailure,
  type WriterProcessReply,
  type WriterProcessRequest,
} from './process-messages.ts';

interface PendingGroup extends Pick<GroupRequest, 'refusal' | 'announce'> {
  kind: 'group';
  group: Group;
  failed: Map<number, StorageFailure>;
  /** It commits statements that were executed before it. */
  continuesTransaction: boolean;
  /** Sent to a process. If that process has ended, the next one finds out from the file whether the group was committed. */
  sent: boolean;
  /** The answer for the group once it is committed. */
  committing: Pick<GroupResult, 'unusablePartitions' | 'sqlOutcomes'>;
}

interface PendingStatement {
  kind: 'statement';
  statement: SqlStatement;
  sent: boolean;
  answer: PromiseWithResolvers<StatementAnswer>;
}

export interface WriterProcessOptions extends Omit<OpenRequest, 'kind' | 'state' | 'parentPid'> {
  ports: Pick<InstancePorts, 'clock' | 'processes'>;
  /** Resolves when the former writer has answered all its groups and closed the file. Rejects if that is not to be. */
  handOver: Promise<WriterState>;
  onResult(result: GroupResult): void;
  /** Nothing more is written: the file or the process cannot be relied on. */
  onFatal(error: QueueError): void;
}

/** All transactions of a group but the last are done within the first limit. */
const statementsMsMax = 2 * limits.sqlExecutionMsMax + limits.sqlKillGraceMs;

const noneCommitting = { unusablePartitions: [], sqlOutcomes: [] };

export class WriterProcess {
  readonly #options: WriterProcessOptions;
  readonly #pending: (PendingGroup | PendingStatement)[] = [];
  #process: ChildProcess | undefined;
  /** The process has the file open. */
  #isOpen = false;
  /** How the last group ended; undefined until the former writer has closed the file. */
  #state: WriterState | undefined;
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
    options.handOver.then(
      (state) => {
        this.#state = state;
        this.#open();
      },
      (error) => this.#fail(error),
    );
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
    const runsStatements = oldest.kind === 'statement' || oldest.group.sqlTransactions.length > 0;
    return runsStatements ? Math.max(0, silentMs - statementsMsMax) : silentMs;
  }

  send(group: Group): void {
    const pending: PendingGroup = {
      kind: 'group',
      group,
      failed: new Map(),
      announce: false,
      refusal: this.#lostTransaction,
      continuesTransaction: this.#transactionOpen,
      sent: false,
      committing: noneCommitting,
    };
    this.#endTransaction();
    this.#add(pending);
  }

  /** Runs a statement of the session that reserved the writer; one at a time. Rejects if the writer has stopped. */
  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#ended) return Promise.reject(new QueueError('INSTANCE_FAILED'));
    if (this.#lostTransaction !== null) return Promise.resolve(undoneAnswer(this.#lostTransaction));
    this.#transactionOpen = true;
    const answer = Promise.withResolvers<StatementAnswer>();
    this.#add({ kind: 'statement', statement, sent: false, answer });
    return answer.promise;
  }

  rollbackReservation(): void {
    this.#endTransaction();
    if (this.#isOpen) this.#request({ kind: 'release' });
  }

  #endTransaction(): void {
    this.#transactionOpen = false;
    this.#lostTransaction = null;
  }

  /** Resolves when the file is closed and the process is gone. Groups sent before are written first. */
  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    if (this.#process === undefined) this.#closed.resolve();
    else if (this.#ended) this.#process.kill();
    else if (this.#isOpen) this.#request({ kind: 'close' });
    this.#process?.keepAlive(true);
    return this.#closed.promise;
  }

  #add(pending: PendingGroup | PendingStatement): void {
    if (this.#ended) return;
    if (this.#pending.length === 0) this.#answeredAtMs = this.#options.ports.clock.monotonicMs();
    this.#pending.push(pending);
    if (this.#process === undefined) this.#start();
    else if (this.#isOpen) this.#sendPending(pending);
    this.#process?.keepAlive(true);
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
    if (this.#state !== undefined) this.#open();
  }

  #open(): void {
    if (this.#process === undefined) return; // ended before the former writer: the next request starts another
    const { path, emulatedSync, logBytesMax, epoch, ports } = this.#options;
    const parentPid = ports.processes.self.pid;
    this.#request({ kind: 'open', path, emulatedSync, logBytesMax, parentPid, epoch, state: this.#state! });
  }

  #request(request: WriterProcessRequest, body?: Uint8Array): void {
    this.#process?.write(encodeFrame(request, body));
  }

  #sendPending(pending: PendingGroup | PendingStatement): void {
    pending.sent = true;
    if (pending.kind === 'statement') {
      this.#request({ kind: 'statement', statement: pending.statement });
      return;
    }
    const { failed, announce, refusal } = pending;
    const { buffer, ...group } = pending.group;
    this.#request(
      { kind: 'group', group, failed, announce, refusal },
      new Uint8Array(buffer, 0, usedBytesOf(pending.group)),
    );
  }

  #onReply(reply: WriterProcessReply): void {
    if (this.#ended) return;
    this.#answeredAtMs = this.#options.ports.clock.monotonicMs();
    switch (reply.kind) {
      case 'opened':
        this.#cpuUsOfProcess = reply.cpuUs;
        this.#onOpened(reply.lastGroup);
        break;
      case 'failed':
        if (reply.failure.fatal) this.#fail(fromStorageFailure(reply.failure));
        break;
      case 'running':
        this.#runningTransaction = reply.transaction;
        break;
      case 'committing': {
        this.#runningTransaction = undefined;
        const { unusablePartitions, sqlOutcomes } = reply;
        this.#oldestGroup().committing = { unusablePartitions, sqlOutcomes };
        break;
      }
      case 'killing':
        this.#runningTransaction = reply.transaction;
        this.#killing = transactionFailure(reply.code, reply.details);
        break;
      case 'group':
        this.#runningTransaction = undefined;
        this.#cpuUsOfProcess = reply.cpuUs;
        this.#answerGroup(reply);
        break;
      case 'statement': {
        const oldest = this.#pending.shift() as PendingStatement;
        this.#runningTransaction = undefined;
        this.#unexplainedEnds = 0;
        oldest.answer.resolve(reply);
        break;
      }
      case 'file failed':
        this.#fail(fromStorageFailure(reply.failure));
        break;
      case 'closed': // its end follows
    }
    if (this.#closed === undefined) this.#process?.keepAlive(this.#pending.length > 0);
  }

  #oldestGroup(): PendingGroup {
    return this.#pending[0] as PendingGroup;
  }

  #answerGroup(result: GroupResult): void {
    const { committing } = this.#pending.shift() as PendingGroup;
    const { generation, failure } = result;
    this.#state = { generation, failure };
    this.#unexplainedEnds = 0;
    this.#options.onResult(failure === null ? { ...result, ...committing } : result);
  }

  /** A process has the file open, perhaps after another that had already committed some of the groups. */
  #onOpened(lastGroup: GroupNumber): void {
    while (this.#pending[0]?.sent && this.#pending[0].kind === 'group') {
      const { group } = this.#pending[0];
      if (group.groupNumber > lastGroup) break;
      const { groupNumber, generation } = group;
      const times = { maintenanceMs: 0, commitMs: 0, cpuUs: this.cpuUs };
      this.#answerGroup({
        kind: 'group',
        groupNumber,
        generation,
        failure: null,
        appliedThrough: groupNumber,
        ...noneCommitting,
        ...times,
      });
    }
    for (const pending of this.#pending) {
      if (pending.kind === 'group') {
        if (pending.sent && pending.continuesTransaction) pending.refusal ??= endedFailure('STORAGE_FAILED');
        pending.committing = noneCommitting;
      }
      this.#sendPending(pending);
    }
    this.#isOpen = true; // not before: what the answers above brought about was sent in its turn
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
    for (const pending of this.#pending.splice(0))
      if (pending.kind === 'statement') pending.answer.reject(error);
    this.#process?.kill();
    this.#options.onFatal(error);
  }
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

function undoneAnswer(storageFailure: StorageFailure): StatementAnswer {
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
