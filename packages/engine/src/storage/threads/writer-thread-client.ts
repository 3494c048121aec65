/**
 * The session thread's side of the instance's writer: sends groups and receives answers; it knows nothing of messages. The
 * writer is a thread until the application's first statement, which hands the file over to a process: nothing can end a
 * statement but the end of its process. It stays one as long as the instance is open.
 */

import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { AppliedGroups } from '../../model/applied-groups.ts';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import {
  type Group,
  type GroupResult,
  newWriterState,
  type StatementAnswer,
  type WriterReply,
  type WriterRequest,
  type WriterState,
} from '../../model/group-message.ts';
import type { Epoch } from '../../model/ids.ts';
import type { Clock, InstancePorts, Ports, Timers } from '../../model/ports.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import { spinPause } from '../../model/spin-pause.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure } from '../../model/storage-failure.ts';
import { keepThread, openInThread } from './file-threads.ts';
import {
  AnswerReceiver,
  createAnswerChannelMemory,
  createGroupChannelMemory,
  GroupSender,
  hasSeveralProcessors,
} from './writer-channel.ts';
import { WriterProcess } from './writer-process-client.ts';

export interface WriterOptions {
  path: string;
  emulatedSync: EmulatedSync;
  logBytesMax: number;
}

type WriterPorts = Pick<InstancePorts, 'clock' | 'timers' | 'processes'>;

export interface WriterListener {
  onResult(result: GroupResult): void;
  /** The tables have groups that were answered before. */
  onApplied(groups: AppliedGroups): void;
  /** The file can no longer be written, or the thread ended unexpectedly. */
  fail(error: QueueError): void;
}

export class WriterThread {
  readonly #worker: Worker;
  readonly #pendingAnswers: PendingAnswers;
  readonly #sender: GroupSender;
  readonly #answers: WriterAnswers;
  #listener: WriterListener | undefined;
  #fatal: QueueError | undefined;
  #onClosed: (() => void) | undefined;
  #onSuspended: (() => void) | undefined;
  #ended = false;
  #fileClosed = false;
  /** Has the file from the application's first statement on. */
  #process: WriterProcess | undefined;
  #handedOver: Promise<WriterState> | undefined;
  readonly #options: WriterOptions;
  readonly #ports: WriterPorts;
  #epoch: Epoch = 0;
  #state: WriterState = newWriterState;
  /** CPU time of the thread since its start, and when it opened this file: it may have served others before. */
  #threadCpuUs = 0;
  #threadCpuUsBefore = 0;

  private constructor(options: WriterOptions, ports: WriterPorts) {
    this.#options = options;
    this.#ports = ports;
    const memory = { groups: createGroupChannelMemory(), answers: createAnswerChannelMemory() };
    const worker = openInThread('writer-thread', { ...options, ...memory });
    this.#worker = worker;
    // A thread that has closed this file may serve another one.
    this.#sender = new GroupSender(memory.groups, (request) => {
      if (!this.#fileClosed) worker.postMessage(request);
    });
    this.#pendingAnswers = new PendingAnswers(worker, ports.clock);
    this.#answers = new WriterAnswers(memory.answers, ports, (answer) => {
      this.#pendingAnswers.onAnswerArrived();
      this.#threadCpuUs = answer.cpuUs;
      if (answer.failure !== null) this.#state = { generation: answer.generation, failure: answer.failure };
      this.#listener?.onResult(answer);
    });
  }

  /** Opens the file in a thread of its own and recovers its state. Throws the errors of opening it. */
  static async start(
    options: WriterOptions,
    ports: WriterPorts,
  ): Promise<{ writer: WriterThread; recovered: RecoveredInstance }> {
    const writer = new WriterThread(options, ports);
    const recovered = await new Promise<RecoveredInstance>((resolve, reject) => {
      writer.#pendingAnswers.expectAnswer();
      writer.#worker.on('message', (reply: WriterReply) => {
        writer.#answers.takeAnswers(); // answers before this message
        switch (reply.kind) {
          case 'group':
            writer.#answers.onPostedAnswer(reply);
            break;
          case 'opened':
            writer.#pendingAnswers.onAnswerArrived();
            writer.#threadCpuUs = reply.cpuUs;
            writer.#threadCpuUsBefore = reply.cpuUsBefore;
            writer.#epoch = reply.recovered.epoch;
            resolve(reply.recovered);
            break;
          case 'failed':
            writer.#pendingAnswers.onAnswerArrived();
            reject(fromStorageFailure(reply.failure));
            break;
          case 'file failed':
            writer.#onFatal(fromStorageFailure(reply.failure));
            break;
          case 'closed':
            writer.#onFileClosed();
            writer.#onClosed?.();
            break;
          case 'suspended':
            writer.#pendingAnswers.onAnswerArrived();
            writer.#onSuspended?.();
            break;
          case 'answer ready':
        }
      });
      const died = (cause?: unknown) => {
        writer.#answers.takeAnswers();
        writer.#ended = true;
        const error = new QueueError('INSTANCE_FAILED', { cause });
        reject(error);
        const handingOver = writer.#process !== undefined && !writer.#fileClosed;
        if (writer.#onClosed === undefined || handingOver) writer.#onFatal(error);
        writer.#onClosed?.();
      };
      writer.#worker.on('error', died);
      writer.#worker.on('exit', () => died());
    });
    return { writer, recovered };
  }

  /** Sends the answers to groups to the listener from now on. Call it before the first group is sent. */
  attach(listener: WriterListener): void {
    this.#listener = listener;
    if (this.#fatal !== undefined) listener.fail(this.#fatal);
  }

  /** The thread has no file and waits for the next one, which may be that of another instance. */
  #onFileClosed(): void {
    this.#pendingAnswers.onAnswerArrived();
    this.#fileClosed = true;
    keepThread('writer-thread', this.#worker);
  }

  #onFatal(error: QueueError): void {
    this.#fatal = error;
    this.#listener?.fail(error);
  }

  send(group: Group): void {
    if (this.#process !== undefined || group.sqlTransactions.length > 0) {
      this.#processWriter().send(group);
      return;
    }
    this.#post(group);
    this.#answers.expectAnswer();
  }

  /** Resolves when the groups sent before are answered. The file stays open, and nothing may be sent before `resume`. */
  suspend(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSuspended = resolve;
      this.#post({ kind: 'suspend' });
    });
  }

  /**
   * Lets the thread write again. `state` is the result of the last group that was committed elsewhere in the meantime; absent if
   * there was none.
   */
  resume(state?: WriterState): void {
    if (state !== undefined) this.#state = state;
    this.#sender.send({ kind: 'resume', state: state ?? null });
  }

  /** Runs a statement of the session that reserved the writer; one at a time. Rejects if the writer has ended. */
  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    return this.#processWriter().executeStatement(statement);
  }

  /** Each group is in the tables when it is answered. */
  async whenApplied(): Promise<void> {}

  /** Undoes the statements since the last group. Has no answer. */
  rollbackReservation(): void {
    this.#process?.rollbackReservation();
  }

  #processWriter(): WriterProcess {
    if (this.#process !== undefined) return this.#process;
    this.#handedOver = this.#handOver();
    this.#process = new WriterProcess({
      ...this.#options,
      epoch: this.#epoch,
      ports: this.#ports,
      handOver: this.#handedOver,
      onResult: (result) => this.#listener?.onResult(result),
      onFatal: (error) => this.#onFatal(error),
    });
    return this.#process;
  }

  /** Has the thread close the file, after the groups that it has. Resolves with how the last of them ended. */
  async #handOver(): Promise<WriterState> {
    await this.#closeThread();
    if (this.#fatal !== undefined) throw this.#fatal;
    const { failure } = this.#state;
    if (failure?.fatal) throw fromStorageFailure(failure);
    return this.#state;
  }

  /** CPU time of the writer so far, microseconds. */
  get cpuUs(): number {
    return this.#threadCpuUs - this.#threadCpuUsBefore + (this.#process?.cpuUs ?? 0);
  }

  /** Milliseconds since the writer last answered while an answer is due; far longer than a sync, and the writer hangs. */
  get silentMs(): number {
    return Math.max(this.#pendingAnswers.silentMs, this.#process?.silentMs ?? 0);
  }

  /** Resolves when the file is closed. Groups sent before are written first. */
  async close(): Promise<void> {
    if (this.#process === undefined) return this.#closeThread();
    await Promise.allSettled([this.#handedOver]);
    await this.#process.close();
  }

  async #closeThread(): Promise<void> {
    if (this.#ended || this.#fileClosed) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
      this.#post({ kind: 'close' });
    });
  }

  #post(request: WriterRequest): void {
    if (this.#fileClosed) return;
    this.#pendingAnswers.expectAnswer();
    this.#sender.send(request);
  }
}

/** Counts the answers that the thread owes: it keeps the process alive only while one is due. */
class PendingAnswers {
  #dueCount = 0;
  #waitingSince = 0;
  readonly #worker: Worker;
  readonly #clock: Clock;

  constructor(worker: Worker, clock: Clock) {
    this.#worker = worker;
    this.#clock = clock;
  }

  expectAnswer(): void {
    this.#dueCount += 1;
    if (this.#dueCount > 1) return;
    this.#waitingSince = this.#clock.monotonicMs();
    this.#worker.ref();
  }

  onAnswerArrived(): void {
    this.#dueCount -= 1;
    this.#waitingSince = this.#clock.monotonicMs();
    if (this.#dueCount === 0) this.#worker.unref();
  }

  /** Milliseconds since the last answer arrived, or since the first one became due; 0 if none is due. */
  get silentMs(): number {
    return this.#dueCount === 0 ? 0 : this.#clock.monotonicMs() - this.#waitingSince;
  }
}

/** A turn of the event loop polls for about 10 µs. */
const pollsPerTurn = 200;

/**
 * Receives the writer's answers on the session thread. Waking its event loop by a message costs the writer and the answer
 * 0.05 to 0.1 ms each. So while an answer is due the event loop polls in every turn, beside its other work, as long as
 * answers take less than `limits.answerSpinMs`.
 */
export class WriterAnswers {
  readonly #receiver: AnswerReceiver;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #onAnswer: (answer: GroupResult) => void;
  #dueCount = 0;
  /** Monotonic time since which the oldest due answer has been the oldest. */
  #oldestDueSince = 0;
  #spinningPays = false;
  #polling = false;

  constructor(
    memory: SharedArrayBuffer,
    { clock, timers }: Pick<Ports, 'clock' | 'timers'>,
    onAnswer: (answer: GroupResult) => void,
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#receiver = new AnswerReceiver(memory);
    this.#onAnswer = onAnswer;
  }

  /** A group was sent. */
  expectAnswer(): void {
    this.#dueCount += 1;
    if (this.#dueCount === 1) this.#oldestDueSince = this.#clock.monotonicMs();
    if (!this.#spinningPays || this.#polling) return;
    this.#polling = true;
    this.#receiver.asleep = false;
    this.#timers.nextTurn(this.#poll);
  }

  readonly #poll = (): void => {
    // A turn of the event loop costs 2 µs and 0.3 KiB of garbage, so several polls in each are cheaper than more turns.
    for (let polls = 0; polls < pollsPerTurn && !this.#receiver.hasNext; polls += 1) spinPause();
    this.takeAnswers();
    if (this.#dueCount > 0 && this.#clock.monotonicMs() - this.#oldestDueSince < limits.answerSpinMs) {
      this.#timers.nextTurn(this.#poll);
      return;
    }
    if (this.#dueCount > 0) this.#spinningPays = false;
    this.#polling = false;
    this.#receiver.asleep = true;
    this.takeAnswers(); // an answer may have arrived before `asleep` was set
  };

  /** Takes the answers that are in shared memory. */
  takeAnswers(): void {
    for (let answer = this.#receiver.next(); answer !== undefined; answer = this.#receiver.next()) {
      this.#onAnswerArrived(answer);
    }
  }

  /** An answer that was posted as a message; those before it were taken. */
  onPostedAnswer(answer: GroupResult): void {
    this.#receiver.skipPosted();
    this.#onAnswerArrived(answer);
    this.takeAnswers();
  }

  #onAnswerArrived(answer: GroupResult): void {
    const now = this.#clock.monotonicMs();
    this.#spinningPays = hasSeveralProcessors && now - this.#oldestDueSince < limits.answerSpinMs;
    this.#oldestDueSince = now;
    this.#dueCount -= 1;
    this.#onAnswer(answer);
  }
}
