/**
 * A session of an instance in another process. What it enqueues and acknowledges is staged here and travels with the
 * commit, in one round trip; a dequeue is one round trip, and waits at the instance.
 *
 * It outlives its connection. A transaction that held messages ends with it, since they went back; a commit whose answer
 * was lost is looked up over the next connection: the instance stores, with each commit, which transaction of the session
 * it was (`instance/outcome-book.ts`).
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { checkStatement } from '../../core/sql-statement.ts';
import { Committed } from '../../instance/committed.ts';
import { uploadAll } from '../../instance/payload-upload.ts';
import { recordBytes } from '../../storage/message-record.ts';
import type {
  DequeueOptions,
  Message,
  NewMessage,
  ReceiveOptions,
  Session,
  SqlParameters,
  StreamedMessage,
} from '../../types.ts';
import { type ClientLink, LinkLost } from './client-link.ts';
import { assertReceipts, assertText, requests } from './protocol.ts';
import { RemoteUpload } from './remote-upload.ts';
import { StagedOperations } from './staged-operations.ts';

/** Pause before the outcome of a commit is asked for again, milliseconds. */
const askAgainMs = 50;

/** Sessions of this process are told apart by their last four bytes. */
export class SessionNames {
  readonly #prefix = randomBytes(12);
  #last = 0;

  next(): { no: number; name: Buffer } {
    this.#last += 1;
    const name = Buffer.alloc(16);
    this.#prefix.copy(name);
    name.writeUInt32LE(this.#last, 12);
    return { no: this.#last, name };
  }
}

export class RemoteSession implements Session {
  readonly id: string;
  readonly #link: ClientLink;
  readonly #no: number;
  readonly #name: Buffer;
  readonly #onClosed: (session: RemoteSession) => void;
  readonly #staged = new StagedOperations();
  /** The connection that the session is open on; 0: none yet. */
  #generation = 0;
  #attachment = 0;
  /** Whether the open transaction has dequeued: then a part of it is at the instance, on that connection only. */
  #begun = false;
  /** Whether it has messages or payloads there, which are let go if that connection is lost. */
  #holding = false;
  #lastTransaction = 0;
  #lastUpload = 0;
  /** Aborts an upload that is under way. */
  readonly #closing = new AbortController();
  #busy: Promise<unknown> | undefined;
  #closed = false;

  constructor(link: ClientLink, names: SessionNames, onClosed: (session: RemoteSession) => void) {
    const { no, name } = names.next();
    this.id = name.toString('hex');
    this.#link = link;
    this.#no = no;
    this.#name = name;
    this.#onClosed = onClosed;
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#assertFree();
    this.#staged.enqueue(queue, message);
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#assertFree();
    this.#staged.acknowledge(queue, receipts);
  }

  execute(sql: string, parameters: SqlParameters = []): void {
    this.#assertFree();
    this.#staged.execute(checkStatement(sql, parameters).statement);
  }

  async query(): Promise<never> {
    throw new QueueError('QUERY_UNSUPPORTED');
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#assertFree();
    const { payload: _source, bytes: _bytes, signal: _signal, ...fields } = message;
    const content = { ...fields, payload: '' };
    assertText('queue', queue);
    recordBytes(content);
    return await this.#exclusively(() => this.#upload(queue, message, content));
  }

  async #upload(queue: string, source: StreamedMessage, content: NewMessage): Promise<{ bytes: number }> {
    if (!this.#attached) await this.#attach();
    this.#lastUpload += 1;
    const upload = new RemoteUpload({ link: this.#link, session: this.#no, upload: this.#lastUpload });
    await upload.begin(queue);
    const signals = [this.#closing.signal, upload.lost, ...(source.signal ? [source.signal] : [])];
    const payload = await uploadAll(upload, { ...source, signal: AbortSignal.any(signals) });
    try {
      if (Buffer.isBuffer(payload)) this.#staged.enqueue(queue, { ...content, payload });
      else this.#staged.enqueueUploaded(queue, payload.upload, content);
    } catch (error) {
      upload.abandon();
      throw error;
    }
    // It lies at the instance, for this connection only.
    if (!Buffer.isBuffer(payload)) this.#begun = this.#holding = true;
    return { bytes: upload.bytes };
  }

  async lookUp(queue: string, receipt: string): Promise<Message> {
    this.#assertFree();
    assertText('queue', queue);
    assertReceipts([receipt]);
    return await this.#exclusively(async () => {
      if (!this.#attached) await this.#attach();
      const [message] = await this.#link.ask<[Message]>(requests.lookUp, (outbox) => {
        outbox.u32(this.#no);
        outbox.text(queue);
        outbox.text(receipt);
      });
      return message;
    });
  }

  dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    return this.#handOut(requests.dequeue, queue, options);
  }

  receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    return this.#handOut(requests.receive, queue, options);
  }

  async #handOut(kind: number, queue: string, options: ReceiveOptions): Promise<Message[]> {
    this.#assertFree();
    const call = checkHandOut(kind, queue, options);
    const { signal } = options;
    const asked = this.#attached ? this.#askHandOut(call) : this.#attach().then(() => this.#askHandOut(call));
    this.#busy = asked;
    const stop = signal && (() => this.#stopWait());
    if (stop !== undefined) signal?.addEventListener('abort', stop, { once: true });
    try {
      const messages = await asked;
      if (kind === requests.dequeue && messages.length > 0) this.#holding = true;
      return messages;
    } finally {
      this.#busy = undefined;
      if (stop !== undefined) signal?.removeEventListener('abort', stop);
    }
  }

  #askHandOut({ kind, queue, max, waitMs, holdMs, subscriber, signal }: HandOutCall): Promise<Message[]> {
    if (kind === requests.dequeue) this.#begun = true;
    return this.#link.ask<Message[]>(kind, (outbox) => {
      outbox.u32(this.#no);
      outbox.u32(max);
      outbox.u32(signal?.aborted || this.#closed ? 0 : waitMs);
      outbox.u32(holdMs);
      outbox.text(queue);
      if (subscriber !== undefined) outbox.text(subscriber);
    });
  }

  #stopWait(): void {
    if (this.#attached) this.#link.tell(requests.stopWait, (outbox) => outbox.u32(this.#no));
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    this.#assertFree();
    await this.#exclusively(() => this.#askAboutReceipts(requests.release, queue, receipts));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#assertFree();
    assertU32('holdMs', holdMs);
    await this.#exclusively(() => this.#askAboutReceipts(requests.extend, queue, receipts, holdMs));
  }

  async #askAboutReceipts(kind: number, queue: string, receipts: string[], holdMs?: number): Promise<void> {
    assertText('queue', queue);
    assertReceipts(receipts);
    if (!this.#attached) await this.#attach();
    await this.#link.ask(kind, (outbox) => {
      outbox.u32(this.#no);
      if (holdMs !== undefined) outbox.u32(holdMs);
      outbox.text(queue);
      for (const receipt of receipts) outbox.text(receipt);
    });
  }

  commit(): Promise<Committed> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.#staged.count === 0 && !this.#begun) return Promise.resolve(new Committed([]));
    const committing = this.#commit();
    this.#busy = committing;
    return committing;
  }

  async #commit(): Promise<Committed> {
    let sentAt: number | undefined;
    const { hasStatements } = this.#staged;
    try {
      while (!this.#attached || this.#link.full) {
        await (this.#attached ? this.#link.drained() : this.#attach());
      }
      this.#lastTransaction += 1;
      sentAt = Date.now();
      return await this.#link.ask<Committed>(requests.commit, (outbox) => {
        outbox.u32(this.#no);
        outbox.f64(this.#lastTransaction);
        this.#staged.writeTo(outbox);
      });
    } catch (error) {
      if (sentAt === undefined || !(error instanceof LinkLost)) throw error;
      this.#end(); // what it held went with the connection, or with the commit
      const { runs } = await this.#learnOutcome(this.#lastTransaction, sentAt);
      return new Committed(runs, hasStatements ? 'lost' : []);
    } finally {
      this.#end();
      this.#busy = undefined;
    }
  }

  /** The answer to the commit of transaction `no` was lost: the instance knows how it ended, or whoever recovers it. */
  async #learnOutcome(no: number, sentAt: number): Promise<Committed> {
    let outcome: Committed | undefined;
    try {
      outcome = await this.#askOutcome(no);
    } catch (error) {
      throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
    }
    if (outcome !== undefined) return outcome;
    // A client that slept through the time for which outcomes are kept cannot tell "not done" from "forgotten".
    if (Date.now() - sentAt > limits.outcomeKeptMs / 2) throw new QueueError('COMMIT_OUTCOME_UNKNOWN');
    throw new QueueError('TX_NOT_COMMITTED');
  }

  /** Asks until there is an answer, as long as the link may take to be made again. */
  async #askOutcome(no: number): Promise<Committed | undefined> {
    const until = performance.now() + this.#link.connectMs;
    for (;;) {
      try {
        if (!this.#attached) await this.#attach();
        return await this.#link.ask<Committed | undefined>(requests.outcome, (outbox) => {
          outbox.u32(this.#no);
          outbox.f64(no);
        });
      } catch (error) {
        const passing = error instanceof LinkLost || (error instanceof QueueError && error.retryable);
        if (!passing || performance.now() > until) throw error;
        if (!(error instanceof LinkLost)) await pause(askAgainMs); // an instance that is closing, or full
      }
    }
  }

  async rollback(): Promise<void> {
    this.#assertFree();
    const atInstance = this.#begun && this.#attached;
    this.#end();
    if (!atInstance) return; // nothing was dequeued, or it went back with the connection
    await this.#exclusively(async () => {
      try {
        await this.#link.ask(requests.rollback, (outbox) => outbox.u32(this.#no));
      } catch (error) {
        if (!(error instanceof LinkLost)) throw error;
      }
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.abort(new QueueError('SESSION_CLOSED', { details: { session: this.id } }));
    if (this.#busy !== undefined) {
      this.#stopWait();
      await this.#busy.catch(() => undefined); // its caller has the error
    }
    this.#end();
    if (this.#attached) {
      try {
        await this.#link.ask(requests.close, (outbox) => outbox.u32(this.#no));
      } catch (error) {
        if (!(error instanceof LinkLost)) throw error;
      }
    }
    this.#onClosed(this);
  }

  /** The next operation begins a new transaction. */
  #end(): void {
    this.#staged.clear();
    this.#begun = false;
    this.#holding = false;
  }

  /** Whether it is open on the connection of now. */
  get #attached(): boolean {
    return this.#link.open && this.#generation === this.#link.generation;
  }

  /**
   * Opens the session on the connection of now. Throws `INSTANCE_UNREACHABLE`, and `TX_NOT_COMMITTED` if the open
   * transaction held messages on a connection that was lost: then it is over.
   */
  async #attach(): Promise<void> {
    this.#begun = false;
    if (this.#holding) {
      this.#end();
      throw new QueueError('TX_NOT_COMMITTED');
    }
    if (!this.#link.open) await this.#link.connected();
    this.#generation = this.#link.generation;
    this.#attachment += 1;
    this.#link.tell(requests.open, (outbox) => {
      outbox.u32(this.#no);
      outbox.u32(this.#attachment);
      outbox.bytes(this.#name, 0, this.#name.length);
    });
  }

  #assertFree(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  #refusal(): QueueError | undefined {
    if (this.#closed) return new QueueError('SESSION_CLOSED', { details: { session: this.id } });
    if (this.#busy !== undefined) return new QueueError('SESSION_BUSY', { details: { session: this.id } });
    return undefined;
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const busy = work();
    this.#busy = busy;
    try {
      return await busy;
    } finally {
      this.#busy = undefined;
    }
  }
}

interface HandOutCall extends Required<Pick<ReceiveOptions, 'max' | 'waitMs' | 'holdMs'>> {
  kind: number;
  queue: string;
  subscriber: string | undefined;
  signal: AbortSignal | undefined;
}

/** The instance knows the ranges; here is only refused what a frame cannot hold. */
function checkHandOut(kind: number, queue: string, options: ReceiveOptions): HandOutCall {
  const { max = 1, waitMs = 0, holdMs = limits.holdMsDefault, subscriber, signal } = options;
  assertText('queue', queue);
  if (subscriber !== undefined) assertText('subscriber', subscriber);
  assertU32('max', max);
  assertU32('waitMs', waitMs);
  assertU32('holdMs', holdMs);
  return { kind, queue, max, waitMs, holdMs, subscriber, signal };
}

function assertU32(option: string, value: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return;
  throw new QueueError('OPTIONS_INVALID', { sentence: `${option} is ${value}; a whole number is needed` });
}
