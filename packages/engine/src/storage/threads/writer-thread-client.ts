/** The session thread's side of the writer thread: sends groups and receives answers; it knows nothing of messages. */
import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import type {
  Group,
  GroupResult,
  StatementAnswer,
  WriterReply,
  WriterRequest,
} from '../../model/group-message.ts';
import type { Clock, Ports } from '../../model/ports.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure } from '../../model/storage-failure.ts';
import { startThread } from './start-thread.ts';
import {
  createAnswerChannelMemory,
  createGroupChannelMemory,
  GroupSender,
  WriterAnswers,
} from './writer-channel.ts';

type ThreadPorts = Pick<Ports, 'clock' | 'timers'>;

export interface WriterListener {
  onResult(result: GroupResult): void;
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
  #statement: PromiseWithResolvers<StatementAnswer> | undefined;
  #ended = false;
  cpuUs = 0;

  private constructor(options: { path: string; emulatedSyncMs: number }, ports: ThreadPorts) {
    const memory = { groups: createGroupChannelMemory(), answers: createAnswerChannelMemory() };
    const worker = startThread('writer-thread', { ...options, ...memory });
    this.#worker = worker;
    this.#sender = new GroupSender(memory.groups, (request) => worker.postMessage(request));
    this.#pendingAnswers = new PendingAnswers(worker, ports.clock);
    this.#answers = new WriterAnswers(memory.answers, ports, (answer) => {
      this.#pendingAnswers.onAnswerArrived();
      this.cpuUs = answer.cpuUs;
      this.#listener?.onResult(answer);
    });
  }

  /** Opens the file in a thread of its own and recovers its state. Throws the errors of opening it. */
  static async start(
    options: { path: string; emulatedSyncMs: number },
    ports: ThreadPorts,
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
            writer.cpuUs = reply.cpuUs;
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
            writer.#pendingAnswers.onAnswerArrived();
            writer.#onClosed?.();
            break;
          case 'statement':
            writer.#pendingAnswers.onAnswerArrived();
            writer.#statement?.resolve(reply);
            break;
          case 'answer ready':
        }
      });
      const died = (cause?: unknown) => {
        writer.#answers.takeAnswers();
        writer.#ended = true;
        const error = new QueueError('INSTANCE_FAILED', { cause });
        reject(error);
        writer.#statement?.reject(error);
        if (writer.#onClosed === undefined) writer.#onFatal(error);
        else writer.#onClosed();
      };
      writer.#worker.on('error', died);
      writer.#worker.on('exit', () => died());
    });
    return { writer, recovered };
  }

  /** From now on the listener gets the answers to groups. Call it before the first group is sent. */
  attach(listener: WriterListener): void {
    this.#listener = listener;
    if (this.#fatal !== undefined) listener.fail(this.#fatal);
  }

  #onFatal(error: QueueError): void {
    this.#fatal = error;
    this.#listener?.fail(error);
  }

  send(group: Group): void {
    this.#post(group);
    this.#answers.expectAnswer();
  }

  /** Runs a statement of the session that reserved the writer; one at a time. Rejects if the thread ends. */
  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#ended) return Promise.reject(new QueueError('INSTANCE_FAILED'));
    this.#statement = Promise.withResolvers();
    this.#post({ kind: 'statement', statement });
    return this.#statement.promise;
  }

  /** Undoes the statements since the last group. Has no answer. */
  rollbackReservation(): void {
    this.#sender.send({ kind: 'release' });
  }

  /** Milliseconds since the thread last answered while an answer is due; far longer than a sync, and the thread hangs. */
  get silentMs(): number {
    return this.#pendingAnswers.silentMs;
  }

  /** Resolves when the file is closed. Groups sent before are written first. */
  async close(): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
      this.#post({ kind: 'close' });
    });
  }

  #post(request: WriterRequest): void {
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
