/**
 * A session of a client, at the instance. The client names it by 16 bytes of its own and counts its transactions, so that
 * it can come back over a new connection and ask how the last one ended. Coming back fences the connection before: what
 * that one may still have sent finds its session closed.
 */
import type { SqlStatement } from '../../core/sql-statement.ts';
import { Committed } from '../../instance/committed.ts';
import type { InlineInstance } from '../../instance/inline-instance.ts';
import type { OutcomeBook, OutcomeEntry, SessionOwner } from '../../instance/outcome-book.ts';
import type { InstanceSession } from '../../instance/session.ts';
import { isPlain, type RecordRun, readRecord, recordEnd } from '../../storage/message-record.ts';
import { checkRecord } from '../../storage/record-check.ts';
import type { DequeueOptions, Message, ReceiveOptions } from '../../types.ts';
import type { BodyReader } from './body-reader.ts';
import { protocolError } from './protocol.ts';
import { SessionUploads } from './session-uploads.ts';
import { type OperationSink, readOperations } from './staged-operations.ts';

export class ServerSession implements OperationSink, SessionOwner {
  readonly #session: InstanceSession;
  readonly #entry: OutcomeEntry;
  readonly #book: OutcomeBook;
  readonly uploads: SessionUploads;
  /** The same client's session on an earlier connection has to end first. */
  #before: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** Throws `SESSIONS_FULL`, `SESSION_CLOSED` to a connection that was replaced, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  constructor(instance: InlineInstance, client: { session: Buffer; attachment: number }) {
    this.#book = instance.recoverOutcomes();
    this.#session = instance.openSession();
    this.uploads = new SessionUploads(this.#session);
    try {
      const { entry, replaced } = this.#book.attach({ ...client, owner: this });
      this.#entry = entry;
      this.#before = replaced?.detach().finally(() => {
        this.#before = undefined;
      });
    } catch (error) {
      void this.#session.close();
      throw error;
    }
  }

  /** Runs `work` once the session is its client's alone. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    await this.#before;
    return work();
  }

  dequeue(queue: string, options: DequeueOptions): Promise<Message[]> {
    if (this.#before !== undefined) return this.#alone(() => this.dequeue(queue, options));
    return this.#session.dequeue(queue, options);
  }

  receive(queue: string, options: ReceiveOptions): Promise<Message[]> {
    if (this.#before !== undefined) return this.#alone(() => this.receive(queue, options));
    return this.#session.receive(queue, options);
  }

  stopWait(): void {
    this.#session.stopWait();
  }

  release(queue: string, receipts: string[]): Promise<void> {
    return this.#alone(() => this.#session.release(queue, receipts));
  }

  extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    return this.#alone(() => this.#session.extend(queue, receipts, holdMs));
  }

  rollback(): Promise<void> {
    this.uploads.discard();
    return this.#alone(() => this.#session.rollback());
  }

  /** Does what the client staged, and commits. Whatever is refused leaves nothing behind. */
  commit(no: number, staged: BodyReader): Promise<Committed> {
    if (this.#before !== undefined) return this.#alone(() => this.commit(no, staged));
    if (!Number.isSafeInteger(no) || no <= this.#entry.no) {
      throw protocolError(`Transaction ${no} cannot follow transaction ${this.#entry.no} of the session`);
    }
    try {
      readOperations(staged, this);
    } catch (error) {
      return this.#session.rollback().then(() => {
        throw error;
      });
    } finally {
      this.uploads.discard(); // what the transaction did not take
    }
    return this.#session.commit({ entry: this.#entry, no });
  }

  enqueue(queue: string, records: RecordRun): void {
    const { source, start, end } = records;
    let plain = true;
    let count = 0;
    for (let at = start; at < end; count += 1) {
      const next = checkRecord(source, at, end);
      plain &&= isPlain(source, at);
      at = next;
    }
    if (count === 0 || count !== records.count) throw protocolError('An enqueue is not as long as it says');
    if (plain) this.#session.enqueueRecords(queue, records);
    else
      for (let at = start; at < end; at = recordEnd(source, at))
        this.#session.enqueue(queue, readRecord(source, at));
  }

  enqueueUploaded(upload: number, source: Buffer, start: number, end: number): number {
    const next = checkRecord(source, start, end);
    this.#session.enqueueUploaded(this.uploads.take(upload), readRecord(source, start));
    return next;
  }

  /** The message that a timed hold is of. */
  lookUp(queue: string, receipt: string): Promise<Message> {
    return this.#session.lookUp(queue, receipt);
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#session.acknowledge(queue, receipts);
  }

  execute({ sql, parameters }: SqlStatement): void {
    this.#session.execute(sql, parameters);
  }

  /** How transaction `no`, the last that the client sent, ended; undefined if it was not committed. */
  async outcome(no: number): Promise<Committed | undefined> {
    await this.#before;
    if (this.#entry.no > no) throw protocolError(`The session has committed ${this.#entry.no} transactions`);
    return this.#entry.no === no ? new Committed(this.#entry.runs) : undefined; // results are not kept
  }

  /** The client closed it: it will not ask any more. */
  async close(): Promise<void> {
    try {
      await this.#end();
    } finally {
      this.#book.forget(this.#entry, this);
    }
  }

  /** The connection is gone; the client may come back. Resolves when a commit under way has ended. */
  async detach(): Promise<void> {
    try {
      await this.#end();
    } finally {
      this.#book.detach(this.#entry, this);
    }
  }

  #end(): Promise<void> {
    this.uploads.discard();
    this.#closing ??= this.#alone(() => this.#session.close());
    return this.#closing;
  }
}
