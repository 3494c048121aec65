/** A client's ordered context: checks the calls, keeps one transaction open at a time, and leaves the work to engines. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { checkStatement } from '../core/sql-statement.ts';
import type { QueueRow } from '../storage/catalog.ts';
import {
  type ChunkedPayload,
  type RecordContent,
  type RecordRun,
  recordBytes,
} from '../storage/message-record.ts';
import type {
  DequeueOptions,
  Message,
  NewMessage,
  ReceiveOptions,
  Session,
  SqlParameters,
  SqlResult,
  StreamedMessage,
} from '../types.ts';
import { type CheckedDequeue, checkDequeue, checkHold } from './call-options.ts';
import { Committed } from './committed.ts';
import { assertMessageFits } from './message-fit.ts';
import type { PayloadSource } from './payload-upload.ts';
import type { QueueEngine, QueueTransaction } from './queue-engine.ts';
import type { OutcomeTag } from './staged-transaction.ts';
import { assertSubscriberFits } from './subscription.ts';

export interface SessionHost {
  /** The queue and the engine that runs it. Throws `QUEUE_NOT_FOUND`, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  find(queue: string): FoundQueue;
  /** The engine whose file the application's tables lie in. Throws `SQL_ELSEWHERE`, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  applicationEngine(): QueueEngine;
  /** Throws `INSTANCE_LEAVING`. */
  assertTakesMessages(): void;
  onSessionClosed(session: number): void;
}

interface FoundQueue {
  row: QueueRow;
  engine: QueueEngine;
}

/** A payload that was taken in for a queue and has no message yet. */
export interface UploadedPayload {
  row: QueueRow;
  /** The payload itself if it fits one chunk. */
  payload: ChunkedPayload | Buffer;
  /** No message will have it. */
  discard(): void;
}

interface Acknowledgement {
  row: QueueRow;
  receipts: readonly string[];
}

export class InstanceSession implements Session {
  readonly id: string;
  readonly #no: number;
  readonly #host: SessionHost;
  #transaction: QueueTransaction | undefined;
  /** Looked up at the commit, where a stale one refuses all of the transaction. */
  #acknowledged: Acknowledgement[] = [];
  /** The open transaction has messages staged. */
  #enqueues = false;
  /** Ends waits for messages; a new one is made only after it was used. */
  #ending = new AbortController();
  /** The same, or that a caller ends the wait: callers pass the same signal again, and joining two costs 5 µs. */
  #joined: { own: AbortSignal; callers: AbortSignal; signal: AbortSignal } | undefined;
  #waiting = false;
  /** Aborts an upload that is under way. */
  readonly #closing = new AbortController();
  #busy: Promise<unknown> | undefined;
  #closed = false;

  constructor(instance: number, no: number, host: SessionHost) {
    this.id = `${instance}.${no}`;
    this.#no = no;
    this.#host = host;
  }

  enqueue(queue: string, message: NewMessage): void {
    const { row, engine } = this.#findForEnqueue(queue);
    assertMessageFits(row, message);
    this.#begin(engine).enqueue(row, message);
    this.#enqueues = true;
  }

  /** Enqueues messages that came as records, all of them plain (`isPlain`) and looked at (`checkRecord`). */
  enqueueRecords(queue: string, records: RecordRun): void {
    const { row, engine } = this.#findForEnqueue(queue);
    this.#begin(engine).enqueueRecords(row, records);
    this.#enqueues = true;
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#assertWriterFree('enqueueStream');
    const { row, engine } = this.#findForEnqueue(queue);
    const { payload: _source, bytes: _bytes, signal: _signal, ...fields } = message;
    const content = { ...fields, payload: '' };
    assertMessageFits(row, content);
    recordBytes(content);
    return await this.#exclusively(this.#enqueueUpload({ row, engine }, message, content));
  }

  async #enqueueUpload(found: FoundQueue, source: PayloadSource, content: NewMessage) {
    const uploaded = await this.#uploadTo(found, source);
    this.enqueueUploaded(uploaded, content);
    const { payload } = uploaded;
    return { bytes: Buffer.isBuffer(payload) ? payload.length : payload.bytes };
  }

  /**
   * Takes a payload in, ahead of its message, which `enqueueUploaded` is to bring; who asked has it until then, and may
   * discard it. Other calls of the session can be made meanwhile; its close aborts it. Throws as `enqueueStream` does.
   */
  async upload(queue: string, source: PayloadSource): Promise<UploadedPayload> {
    this.#assertOpen();
    return await this.#uploadTo(this.#findToEnqueue(queue), source);
  }

  async #uploadTo({ row, engine }: FoundQueue, source: PayloadSource): Promise<UploadedPayload> {
    const own = this.#closing.signal;
    const signal = source.signal === undefined ? own : AbortSignal.any([own, source.signal]);
    const payload = await engine.upload(row, { ...source, signal });
    const discard = () => {
      if (!Buffer.isBuffer(payload)) engine.discard(payload);
    };
    return { row, payload, discard };
  }

  /** Stages the message of a payload that is there, which is discarded if that fails. */
  enqueueUploaded({ row, payload, discard }: UploadedPayload, content: NewMessage): void {
    try {
      this.#assertOpen();
      assertMessageFits(row, content);
      this.#stage(row, Buffer.isBuffer(payload) ? { ...content, payload } : { ...content, chunked: payload });
    } catch (error) {
      discard();
      throw error;
    }
  }

  /** The queue may have been stopped, or dropped, while the payload came. */
  #stage({ queueId, name }: QueueRow, content: RecordContent): void {
    const { row, engine } = this.#findToEnqueue(name);
    if (row.queueId !== queueId) throw new QueueError('QUEUE_DROPPED', { details: { queue: name } });
    this.#begin(engine).enqueue(row, content);
    this.#enqueues = true;
  }

  /** The message that a timed hold is of, whoever has the hold. */
  async lookUp(queue: string, receipt: string): Promise<Message> {
    this.#assertFree();
    const { row, engine } = this.#host.find(queue);
    return engine.lookUp(row, receipt);
  }

  #findForEnqueue(queue: string) {
    this.#assertFree();
    return this.#findToEnqueue(queue);
  }

  #findToEnqueue(queue: string) {
    const found = this.#host.find(queue);
    if (!found.row.enqueueEnabled) throw new QueueError('ENQUEUE_STOPPED', { details: { queue } });
    this.#host.assertTakesMessages();
    return found;
  }

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#assertWriterFree('dequeue');
    const { row, engine } = this.#findForDequeue(queue, options.subscriber);
    const checked = checkDequeue(options);
    const transaction = this.#begin(engine);
    return await this.#exclusively(transaction.dequeue(row, this.#stoppable(checked)));
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#assertWriterFree('receive');
    const { row, engine } = this.#findForDequeue(queue, options.subscriber);
    const holdMs = checkHold(options.holdMs ?? limits.holdMsDefault);
    const checked = checkDequeue(options);
    return await this.#exclusively(engine.receive(row, { ...this.#stoppable(checked), holdMs }));
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#assertFree();
    const { row, engine } = this.#host.find(queue);
    this.#begin(engine);
    this.#acknowledged.push({ row, receipts: [...receipts] });
  }

  execute(sql: string, parameters: SqlParameters = []): void {
    this.#assertWriterFree('execute');
    const { statement, bytes } = checkStatement(sql, parameters);
    this.#begin(this.#host.applicationEngine()).execute(statement, bytes);
  }

  async query(sql: string, parameters: SqlParameters = []): Promise<SqlResult> {
    this.#assertFree();
    const { statement } = checkStatement(sql, parameters);
    return await this.#exclusively(this.#begin(this.#host.applicationEngine()).query(statement));
  }

  /** Ends a wait for messages, if one is under way: it gives no messages. */
  stopWait(): void {
    if (!this.#waiting) return;
    this.#ending.abort();
    this.#ending = new AbortController();
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    this.#assertWriterFree('release');
    const { row, engine } = this.#host.find(queue);
    await this.#exclusively(engine.release(row, receipts));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#assertFree();
    const { row, engine } = this.#host.find(queue);
    engine.extend(row, receipts, checkHold(holdMs));
  }

  /** `outcome` names the transaction of a remote session, so that its outcome is stored with it. */
  async commit(outcome?: OutcomeTag): Promise<Committed> {
    this.#assertFree();
    const transaction = this.#transaction;
    if (transaction === undefined) return new Committed([]);
    try {
      this.#close(transaction);
    } catch (error) {
      await this.#exclusively(transaction.rollback());
      throw error;
    }
    return await this.#exclusively(transaction.commit(outcome));
  }

  /** Nothing more comes to it but what was acknowledged. */
  #close(transaction: QueueTransaction): void {
    const enqueues = this.#enqueues;
    const acknowledged = this.#end();
    if (enqueues) this.#host.assertTakesMessages();
    for (const { row, receipts } of acknowledged) transaction.acknowledge(row, receipts);
  }

  async rollback(): Promise<void> {
    this.#assertFree();
    const transaction = this.#transaction;
    this.#end();
    if (transaction !== undefined) await this.#exclusively(transaction.rollback());
  }

  /** The next operation begins a new transaction. */
  #end(): Acknowledgement[] {
    const acknowledged = this.#acknowledged;
    this.#acknowledged = [];
    this.#transaction = undefined;
    this.#enqueues = false;
    return acknowledged;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.stopWait();
    this.#closing.abort(new QueueError('SESSION_CLOSED', { details: { session: this.id } }));
    await this.#busy?.catch(() => undefined); // its caller has the error
    try {
      await this.#transaction?.rollback();
    } finally {
      this.#transaction = undefined;
      this.#host.onSessionClosed(this.#no);
    }
  }

  #assertFree(): void {
    this.#assertOpen();
    if (this.#busy !== undefined) throw new QueueError('SESSION_BUSY', { details: { session: this.id } });
  }

  #assertOpen(): void {
    if (this.#closed) throw new QueueError('SESSION_CLOSED', { details: { session: this.id } });
  }

  /** What may have to wait for the writer would wait for this session itself. */
  #assertWriterFree(call: string): void {
    this.#assertFree();
    if (this.#transaction?.holdsWriter) throw new QueueError('SQL_HOLDS_WRITER', { details: { call } });
  }

  #findForDequeue(queue: string, subscriber: string | undefined) {
    const found = this.#host.find(queue);
    assertSubscriberFits(found.row, subscriber);
    if (!found.row.dequeueEnabled) throw new QueueError('DEQUEUE_STOPPED', { details: { queue } });
    return found;
  }

  #begin(engine: QueueEngine): QueueTransaction {
    const open = this.#transaction;
    if (open?.engine === engine) return open;
    if (open !== undefined && !(open.isEmpty && this.#acknowledged.length === 0)) {
      open.assertThere(); // the name may stand for a queue in another file since it began
      throw new QueueError('TX_SPANS_FILES');
    }
    this.#transaction = engine.begin(this.#no);
    return this.#transaction;
  }

  /** A wait that the session itself can end too. */
  #stoppable(options: CheckedDequeue): CheckedDequeue {
    if (options.waitMs === 0) return options;
    this.#waiting = true;
    options.signal = this.#orOwn(options.signal);
    return options;
  }

  #orOwn(callers: AbortSignal | undefined): AbortSignal {
    const own = this.#ending.signal;
    if (callers === undefined) return own;
    if (this.#joined?.own !== own || this.#joined.callers !== callers) {
      this.#joined = { own, callers, signal: AbortSignal.any([own, callers]) };
    }
    return this.#joined.signal;
  }

  #exclusively<T>(work: Promise<T>): Promise<T> {
    this.#busy = work;
    return work.then(this.#freed, this.#freedByFailure) as Promise<T>;
  }

  // Made once a session: an async function with its own frame for each call was a tenth of what the calls allocate.
  readonly #freed = (result: unknown): unknown => {
    this.#busy = undefined;
    this.#waiting = false;
    return result;
  };

  readonly #freedByFailure = (error: unknown): never => {
    this.#freed(undefined);
    throw error;
  };
}
