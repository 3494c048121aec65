/**
 * The instance's end of a remote session. The client identifies it by 16 bytes and numbers its transactions, so that it can
 * open the session again over a new connection and ask how the last transaction ended. Opening it again closes the session
 * on the earlier connection; requests that are still on their way there find it closed.
 */

import type { Message } from '../api/message.ts';
import type { DequeueOptions, ReceiveOptions } from '../api/session.ts';
import type { CommitOutcomes, OutcomeEntry, SessionConnection } from '../commit/commit-outcomes.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { AttachmentNumber, RequestNumber, TransactionNumber, UploadNumber } from '../model/ids.ts';
import { inBackground } from '../model/invariant.ts';
import { type RecordRun, readRecord } from '../model/message-record.ts';
import type { Ports } from '../model/ports.ts';
import { LazyCommitResult, validateIdempotencyKey } from '../model/session-calls.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import { validateRecord } from '../model/validate-record.ts';
import type { InstanceSession } from '../runtime/instance-session.ts';
import type { LocalInstance } from '../runtime/local-instance.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { protocolError } from '../wire/protocol.ts';
import { branchCallFromJson } from '../wire/xa-calls.ts';
import { type OperationHandler, readEnqueue, readOperations } from './read-operations.ts';
import { readRecords, validateRecords } from './received-records.ts';
import { SessionConsumers } from './session-consumers.ts';
import { SessionSends } from './session-sends.ts';
import { SessionUploads } from './session-uploads.ts';

export class ServerSession implements OperationHandler, SessionConnection {
  readonly #session: InstanceSession;
  readonly #outcomeEntry: OutcomeEntry;
  readonly #outcomes: CommitOutcomes;
  readonly uploads: SessionUploads;
  readonly consumers: SessionConsumers;
  readonly sends: SessionSends;
  /** The client's last commit, if it is under way; a dequeue may follow it without waiting for its answer. */
  #lastCommit: Promise<unknown> | undefined;
  /** Set while the same session is ending on an earlier connection. */
  #previousEnded: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** Key of the commit whose operations are being read. */
  #idempotencyKey: string | undefined;

  /** Throws `SESSIONS_FULL`, `SESSION_CLOSED` if a later connection has the session, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  constructor(
    instance: LocalInstance,
    client: { session: Buffer; attachment: AttachmentNumber },
    ports: Pick<Ports, 'clock' | 'timers'>,
  ) {
    this.#outcomes = instance.recoverOutcomes();
    this.#session = instance.openSession();
    this.uploads = new SessionUploads(this.#session);
    this.consumers = new SessionConsumers(this.#session, ports);
    this.sends = new SessionSends(this.#session.immediate);
    try {
      const { entry, replaced } = this.#outcomes.attach({ ...client, owner: this });
      this.#outcomeEntry = entry;
      // However that connection's rollback ended, its session is closed: this one can go on.
      this.#previousEnded = replaced
        ?.detach()
        .catch(() => undefined)
        .finally(() => {
          this.#previousEnded = undefined;
        });
    } catch (error) {
      inBackground(this.#session.close());
      throw error;
    }
  }

  /** Runs `work` once the session has ended on the earlier connection. */
  async #afterPrevious<T>(work: () => Promise<T>): Promise<T> {
    await this.#previousEnded;
    return work();
  }

  /** Set until the session has ended on the earlier connection. */
  get previousEnded(): Promise<void> | undefined {
    return this.#previousEnded;
  }

  dequeue(queue: string, options: DequeueOptions): Promise<Message[]> {
    if (this.#lastCommit !== undefined) return this.#lastCommit.then(() => this.dequeue(queue, options));
    if (this.#previousEnded !== undefined) return this.#afterPrevious(() => this.dequeue(queue, options));
    return this.#session.dequeue(queue, options);
  }

  receive(queue: string, options: ReceiveOptions): Promise<Message[]> {
    if (this.#previousEnded !== undefined) return this.#afterPrevious(() => this.receive(queue, options));
    return this.#session.receive(queue, options);
  }

  stopWait(): void {
    this.#session.stopWait();
  }

  release(queue: string, receipts: string[], how: ValidReturn): Promise<void> {
    return this.#afterPrevious(() => this.#session.release(queue, receipts, how));
  }

  extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    return this.#afterPrevious(() => this.#session.extend(queue, receipts, holdMs));
  }

  rollback(how: ValidReturn): Promise<void> {
    this.uploads.cancelAll();
    return this.#afterPrevious(() => this.#session.rollback(how));
  }

  /**
   * Carries out the staged operations and commits. If one is refused, the whole transaction is rolled back. The caller says when it
   * has ended (`onCommitEnded`), as it waits for that anyway.
   */
  commit(transactionNumber: TransactionNumber, staged: BodyReader): Promise<LazyCommitResult> {
    const committing = this.#commit(transactionNumber, staged);
    this.#lastCommit = committing;
    return committing;
  }

  onCommitEnded(committing: Promise<LazyCommitResult>): void {
    if (this.#lastCommit === committing) this.#lastCommit = undefined;
  }

  #commit(transactionNumber: TransactionNumber, staged: BodyReader): Promise<LazyCommitResult> {
    if (this.#previousEnded !== undefined)
      return this.#afterPrevious(() => this.#commit(transactionNumber, staged));
    if (
      !Number.isSafeInteger(transactionNumber) ||
      transactionNumber <= this.#outcomeEntry.transactionNumber
    ) {
      throw protocolError(
        `Transaction ${transactionNumber} cannot follow transaction ${this.#outcomeEntry.transactionNumber} of the session`,
      );
    }
    this.#idempotencyKey = undefined;
    try {
      readOperations(staged, this);
    } catch (error) {
      return this.#session.rollback().then(() => {
        throw error;
      });
    } finally {
      this.uploads.cancelAll(); // uploads that no operation used
    }
    const key = this.#idempotencyKey;
    const options = key === undefined ? undefined : { idempotencyKey: key };
    return this.#session.commit(options, { entry: this.#outcomeEntry, transactionNumber });
  }

  /**
   * Starts or ends a branch, or adds the operations that the client has staged to it (the end does that too). If these are refused, the
   * branch can only be rolled back.
   */
  async branchCall(body: BodyReader): Promise<void> {
    await this.#previousEnded;
    const call = branchCallFromJson(body.text());
    const { xa } = this.#session;
    if (call.call === 'start') {
      body.assertEnd();
      await xa.start(call.xid, call.options);
      return;
    }
    try {
      if (xa.worksIn(call.xid)) readOperations(body, this);
    } catch (error) {
      await xa.end(call.xid, 'fail');
      throw error;
    }
    if (call.call === 'flush') await xa.flush(call.xid);
    else await xa.end(call.xid, call.how);
  }

  enqueue(queue: string, records: RecordRun): void {
    if (validateRecords(records).arePlain) this.#session.enqueueRecords(queue, records);
    else for (const message of readRecords(records)) this.#session.enqueue(queue, message);
  }

  async enqueueNow(body: BodyReader): Promise<LazyCommitResult> {
    if (this.#previousEnded !== undefined) return this.#afterPrevious(() => this.enqueueNow(body));
    const { queue, records } = readEnqueue(body);
    return validateRecords(records).arePlain
      ? this.#session.immediate.enqueueRecords(queue, records)
      : this.#session.enqueueNow(queue, ...readRecords(records));
  }

  dequeueNow(queue: string, options: DequeueOptions): Promise<Message[]> {
    if (this.#previousEnded !== undefined) return this.#afterPrevious(() => this.dequeueNow(queue, options));
    return this.#session.dequeueNow(queue, options);
  }

  enqueueUploaded(uploadNumber: UploadNumber, source: Buffer, start: number, end: number): number {
    const next = validateRecord(source, start, end);
    this.#session.uploads.enqueue(this.uploads.takeUploaded(uploadNumber), readRecord(source, start));
    return next;
  }

  /** The message of a timed hold. */
  messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    return this.#session.messageOfReceipt(queue, receipt);
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#session.acknowledge(queue, receipts);
  }

  consumeDelivered(consumer: RequestNumber, messages: number): void {
    this.consumers.find(consumer).consumeInTransaction(messages);
  }

  execute({ sql, parameters }: SqlStatement): void {
    this.#session.execute(sql, parameters);
  }

  idempotencyKey(key: string): void {
    validateIdempotencyKey(key);
    this.#idempotencyKey = key;
  }

  /** The outcome of the last transaction that the client sent; undefined if it was not committed. */
  async outcome(transactionNumber: TransactionNumber): Promise<LazyCommitResult | undefined> {
    await this.#previousEnded;
    const committed = this.#outcomeEntry.transactionNumber;
    if (committed > transactionNumber) {
      throw protocolError(`Transaction ${transactionNumber} is not the last one: ${committed} was committed`);
    }
    if (committed < transactionNumber) return undefined;
    return new LazyCommitResult(this.#outcomeEntry.idRuns); // the results of its SQL statements are not stored
  }

  /** The client closed the session, so it will not ask for its outcome. */
  async close(): Promise<void> {
    try {
      await this.#end();
    } finally {
      this.#outcomes.forget(this.#outcomeEntry, this);
    }
  }

  /** The connection is lost, but the client may come back. Resolves when a commit under way has ended. */
  async detach(): Promise<void> {
    try {
      await this.#end();
    } finally {
      this.#outcomes.detach(this.#outcomeEntry, this);
    }
  }

  #end(): Promise<void> {
    this.uploads.cancelAll();
    const returned = this.consumers.endAll();
    const sent = this.sends.end();
    this.#closing ??= this.#afterPrevious(async () => {
      await Promise.all([sent, returned]);
      await this.#session.close();
    });
    return this.#closing;
  }
}
