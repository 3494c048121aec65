/**
 * A session of an instance in another process. What it enqueues and acknowledges is staged here and travels with the
 * commit, in one round trip; a dequeue is one round trip, and waits at the instance.
 *
 * It outlives its connection. A transaction that held messages ends with it, since they went back; a commit whose answer
 * was lost is looked up over the next connection: the instance stores, with each commit, which transaction of the session
 * it was (`instance/outcome-book.ts`).
 */
import { randomBytes } from 'node:crypto';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { Committed } from '../../instance/committed.ts';
import type { DequeueOptions, Message, NewMessage, ReceiveOptions, Session } from '../../types.ts';
import { type ClientLink, LinkLost } from './client-link.ts';
import type { Outbox } from './outbox.ts';
import { assertText, requests } from './protocol.ts';
import { StagedOperations } from './staged-operations.ts';

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
  /** Whether it got messages there, which go back if that connection is lost. */
  #holding = false;
  #lastTransaction = 0;
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

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#assertFree();
    return this.#exclusively(async () => {
      if (!this.#attached) await this.#attach();
      this.#begun = true;
      const messages = await this.#handOut(requests.dequeue, queue, options);
      this.#holding ||= messages.length > 0;
      return messages;
    });
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#assertFree();
    return this.#exclusively(async () => {
      if (!this.#attached) await this.#attach();
      return this.#handOut(requests.receive, queue, options);
    });
  }

  async #handOut(kind: number, queue: string, options: ReceiveOptions): Promise<Message[]> {
    const { max = 1, waitMs = 0, holdMs = limits.holdMsDefault, subscriber, signal } = options;
    assertText('queue', queue);
    if (subscriber !== undefined) assertText('subscriber', subscriber);
    for (const [option, value] of Object.entries({ max, waitMs, holdMs })) assertU32(option, value);
    const answer = this.#ask<Message[]>(kind, (outbox) => {
      outbox.u32(max);
      outbox.u32(signal?.aborted || this.#closed ? 0 : waitMs);
      outbox.u32(holdMs);
      outbox.text(queue);
      if (subscriber !== undefined) outbox.text(subscriber);
    });
    if (signal === undefined || signal.aborted) return answer;
    const stop = () => this.#stopWait();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', stop);
    }
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
    for (const receipt of receipts) assertText('receipt', receipt);
    if (!this.#attached) await this.#attach();
    await this.#ask(kind, (outbox) => {
      if (holdMs !== undefined) outbox.u32(holdMs);
      outbox.text(queue);
      for (const receipt of receipts) outbox.text(receipt);
    });
  }

  async commit(): Promise<Committed> {
    this.#assertFree();
    if (this.#staged.count === 0 && !this.#begun) return new Committed([]);
    return this.#exclusively(() => this.#commit());
  }

  async #commit(): Promise<Committed> {
    try {
      while (!this.#attached || this.#link.full)
        await (this.#attached ? this.#link.drained() : this.#attach());
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#lastTransaction += 1;
    const no = this.#lastTransaction;
    const sentAt = Date.now();
    try {
      return await this.#link.ask<Committed>(requests.commit, (outbox) => {
        outbox.u32(this.#no);
        outbox.f64(no);
        outbox.bytes(this.#staged.bytes, 0, this.#staged.bytes.length);
        this.#end();
      });
    } catch (error) {
      this.#end();
      if (!(error instanceof LinkLost)) throw error;
      return this.#learnOutcome(no, sentAt);
    }
  }

  /** The answer to the commit of transaction `no` was lost: the instance knows how it ended, or whoever recovers it. */
  async #learnOutcome(no: number, sentAt: number): Promise<Committed> {
    let outcome: Committed | undefined;
    for (;;) {
      try {
        if (!this.#attached) await this.#attach();
        outcome = await this.#link.ask<Committed | undefined>(requests.outcome, (outbox) => {
          outbox.u32(this.#no);
          outbox.f64(no);
        });
        break;
      } catch (error) {
        // Lost again: it connects again as long as that may take.
        if (error instanceof LinkLost) continue;
        throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
      }
    }
    if (outcome !== undefined) return outcome;
    // A client that slept through the time for which outcomes are kept cannot tell "not done" from "forgotten".
    if (Date.now() - sentAt > limits.outcomeKeptMs / 2) throw new QueueError('COMMIT_OUTCOME_UNKNOWN');
    throw new QueueError('TX_NOT_COMMITTED');
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

  /** Asks over the connection that the session is attached to. */
  async #ask<T>(kind: number, write: (outbox: Outbox) => void): Promise<T> {
    try {
      return await this.#link.ask<T>(kind, (outbox) => {
        outbox.u32(this.#no);
        write(outbox);
      });
    } catch (error) {
      if (!(error instanceof LinkLost)) throw error;
      throw new QueueError('INSTANCE_UNREACHABLE', { details: { path: this.#link.path } });
    }
  }

  #assertFree(): void {
    if (this.#closed) throw new QueueError('SESSION_CLOSED', { details: { session: this.id } });
    if (this.#busy !== undefined) throw new QueueError('SESSION_BUSY', { details: { session: this.id } });
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

function assertU32(option: string, value: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return;
  throw new QueueError('OPTIONS_INVALID', { sentence: `${option} is ${value}; a whole number is needed` });
}
