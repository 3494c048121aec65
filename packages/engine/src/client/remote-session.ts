/**
 * A session of an instance in another process. Enqueues and acknowledgements are staged here and travel with the commit in
 * one round trip; a dequeue is one round trip, and waits at the instance.
 *
 * The session outlives its connection. A transaction that has dequeued or uploaded ends with the connection, because its
 * messages go back to their queues. The outcome of a commit whose answer was lost is learned over the next connection.
 */
import type { ClientSession, ConsumerOptions, ProducerOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage, StreamedMessage } from '../api/message.ts';
import type { CommitOptions, DequeueOptions, ReceiveOptions } from '../api/session.ts';
import type { SqlParameters } from '../api/sql.ts';
import {
  contentOfStreamed,
  LazyCommitResult,
  recordBytes,
  SessionGuard,
  validateHoldMs,
  validateIdempotencyKey,
} from '../model/session-calls.ts';
import { validateStatement } from '../model/sql-statement.ts';
import { uploadAll } from '../payloads/upload-all.ts';
import { assertReceipts, assertText, requests } from '../wire/protocol.ts';
import type { ClientLink } from './client-link.ts';
import { type DeliveryRequest, validateDeliveryRequest, writeDeliveryRequest } from './delivery-request.ts';
import { learnOutcome, type SentAt, sentNow } from './learn-outcome.ts';
import { ConnectionLost } from './pending-requests.ts';
import { RemoteBranches } from './remote-branches.ts';
import type { ConsumerSession, RemoteConsumer } from './remote-consumer.ts';
import { type ProducerSession, RemoteProducer } from './remote-producer.ts';
import { RemoteUpload } from './remote-upload.ts';
import { SessionAttachment } from './session-attachment.ts';
import { SessionConsumers } from './session-consumers.ts';
import type { SessionIds } from './session-ids.ts';
import { StagedOperations, writeIdempotencyKey } from './staged-operations.ts';

export class RemoteSession implements ClientSession {
  readonly id: string;
  readonly #link: ClientLink;
  readonly #sessionNumber: number;
  readonly #attachment: SessionAttachment;
  readonly #guard: SessionGuard;
  readonly #onClosed: (session: RemoteSession) => void;
  #staged: StagedOperations;
  /** The messages of an `enqueueNow`, empty between calls; made at the first. */
  #immediate: StagedOperations | undefined;
  /** Whether the open transaction has dequeued or uploaded: then a part of it is at the instance, on this connection only. */
  #isStartedAtServer = false;
  /** Whether that part has messages or payloads, which are lost to the transaction if the connection is. */
  #hasServerState = false;
  #lastTransaction = 0;
  #lastUpload = 0;
  #lastProducer = 0;
  readonly #producers = new Set<RemoteProducer>();
  #branches: RemoteBranches | undefined;
  #consumers: SessionConsumers | undefined;

  constructor(link: ClientLink, ids: SessionIds, onClosed: (session: RemoteSession) => void) {
    const { sessionNumber, sessionId } = ids.next();
    this.id = sessionId.toString('hex');
    this.#link = link;
    this.#sessionNumber = sessionNumber;
    this.#attachment = new SessionAttachment(link, { sessionNumber, sessionId });
    this.#guard = new SessionGuard(this.id);
    this.#staged = new StagedOperations(link.ports.clock);
    this.#onClosed = onClosed;
  }

  get roundTrips(): number {
    return this.#attachment.roundTrips;
  }

  get xa(): RemoteBranches {
    this.#branches ??= this.#createBranches();
    return this.#branches;
  }

  #createBranches(): RemoteBranches {
    const session = this;
    return new RemoteBranches(this.#attachment, {
      guard: this.#guard,
      get hasWork() {
        return session.#staged.count > 0 || session.#hasServerState;
      },
      beforeStart: () => this.#consumers?.assertMayStartBranch(),
      send: (json, options) => this.#sendBranchCall(json, options),
      onStarted: () => {
        this.#isStartedAtServer = this.#hasServerState = true;
      },
      onFlushed: () => this.#staged.clear(),
      onEnded: () => this.#resetTransaction(),
    });
  }

  async #sendBranchCall(json: string, { withStaged }: { withStaged: boolean }): Promise<void> {
    await this.#whenSendable();
    await this.#attachment.request(requests.branchCall, (writer) => {
      writer.u32(this.#sessionNumber);
      writer.text(json);
      if (withStaged) this.#staged.writeTo(writer);
    });
  }

  async openConsumer(queue: string, options: ConsumerOptions = {}): Promise<RemoteConsumer> {
    this.#guard.assertOpen();
    this.#consumers ??= new SessionConsumers(this.#asConsumerSession());
    return await this.#consumers.open(queue, options);
  }

  openProducer(queue: string, options: ProducerOptions = {}): RemoteProducer {
    this.#guard.assertOpen();
    this.#lastProducer += 1;
    const producer = new RemoteProducer(this.#asConsumerSession(), this.#lastProducer, queue, options);
    this.#producers.add(producer);
    return producer;
  }

  #asConsumerSession(): ConsumerSession & ProducerSession {
    const session = this;
    return {
      link: this.#link,
      sessionNumber: this.#sessionNumber,
      get isInBranch() {
        return session.#branches?.isActive === true;
      },
      assertOpen: () => this.#guard.assertOpen(),
      attach: async () => {
        if (!this.#attachment.isCurrent) await this.#attach();
      },
      onTransacted: () => {
        this.#isStartedAtServer = this.#hasServerState = true;
      },
      dequeue: (queue, options) => this.dequeue(queue, options),
      onProducerClosed: (producer) => this.#producers.delete(producer),
    };
  }

  /** A branch of a distributed transaction ends by the calls of its transaction manager. */
  #assertNotInBranch(call: string): void {
    if (this.#branches?.isActive !== true) return;
    throw new QueueError('XAER_PROTO', { message: `The session works in a branch: ${call} is not its own` });
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#guard.assertFree();
    this.#staged.enqueue(queue, message);
  }

  async enqueueNow(queue: string, ...messages: NewMessage[]): Promise<LazyCommitResult> {
    this.#guard.assertFree();
    if (messages.length === 0) return new LazyCommitResult([]);
    return await this.#guard.run(this.#sendEnqueueNow(queue, messages));
  }

  async #sendEnqueueNow(queue: string, messages: readonly NewMessage[]): Promise<LazyCommitResult> {
    this.#immediate ??= new StagedOperations(this.#link.ports.clock);
    const operation = this.#immediate;
    let isSent = false;
    try {
      for (const message of messages) operation.enqueue(queue, message);
      await this.#whenSendable();
      isSent = true;
      return await this.#attachment.request<LazyCommitResult>(requests.enqueueNow, (writer) => {
        writer.u32(this.#sessionNumber);
        operation.writeTo(writer);
      });
    } catch (error) {
      if (!isSent || !(error instanceof ConnectionLost)) throw error;
      throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { details: error.details, cause: error });
    } finally {
      operation.clear();
    }
  }

  /** Whether the session is attached and the instance reads what is sent. */
  get #isSendable(): boolean {
    return this.#attachment.isCurrent && !this.#link.full;
  }

  async #whenSendable(): Promise<void> {
    while (!this.#isSendable) {
      await (this.#attachment.isCurrent ? this.#link.drained() : this.#attach());
    }
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#guard.assertFree();
    this.#staged.acknowledge(queue, receipts);
  }

  execute(sql: string, parameters: SqlParameters = []): void {
    this.#guard.assertFree();
    this.#staged.execute(validateStatement(sql, parameters).statement);
  }

  async query(): Promise<never> {
    throw new QueueError('QUERY_UNSUPPORTED');
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#guard.assertFree();
    const content = contentOfStreamed(message);
    assertText('queue', queue);
    recordBytes(content);
    return await this.#guard.run(this.#upload(queue, message, content));
  }

  async #upload(queue: string, source: StreamedMessage, content: NewMessage): Promise<{ bytes: number }> {
    if (!this.#attachment.isCurrent) await this.#attach();
    this.#lastUpload += 1;
    const upload = new RemoteUpload({ attachment: this.#attachment, uploadNumber: this.#lastUpload });
    await upload.begin(queue);
    const signals = [
      this.#guard.closingSignal,
      upload.connectionLost,
      ...(source.signal ? [source.signal] : []),
    ];
    const payload = await uploadAll(upload, { ...source, signal: AbortSignal.any(signals) });
    try {
      if (Buffer.isBuffer(payload)) this.#staged.enqueue(queue, { ...content, payload });
      else this.#staged.enqueueUploaded(queue, payload.uploadNumber, content);
    } catch (error) {
      upload.abandon();
      throw error;
    }
    if (!Buffer.isBuffer(payload)) this.#isStartedAtServer = this.#hasServerState = true;
    return { bytes: upload.bytes };
  }

  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    this.#guard.assertFree();
    assertText('queue', queue);
    assertReceipts([receipt]);
    return await this.#guard.run(this.#requestMessage(queue, receipt));
  }

  async #requestMessage(queue: string, receipt: string): Promise<Message> {
    if (!this.#attachment.isCurrent) await this.#attach();
    const [message] = await this.#attachment.request<[Message]>(requests.messageOfReceipt, (writer) => {
      writer.u32(this.#sessionNumber);
      writer.text(queue);
      writer.text(receipt);
    });
    return message;
  }

  dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    return this.#requestDelivery(requests.dequeue, queue, options);
  }

  dequeueNow(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    return this.#requestDelivery(requests.dequeueNow, queue, options);
  }

  receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    return this.#requestDelivery(requests.receive, queue, options);
  }

  async #requestDelivery(kind: number, queue: string, options: ReceiveOptions): Promise<Message[]> {
    this.#guard.assertFree();
    const request = validateDeliveryRequest(kind, queue, options);
    const { signal } = options;
    const requested = this.#attachment.isCurrent
      ? this.#sendDeliveryRequest(request)
      : this.#attach().then(() => this.#sendDeliveryRequest(request));
    this.#guard.begin(requested);
    const cancel = signal && (() => this.#cancelWait());
    if (cancel !== undefined) signal?.addEventListener('abort', cancel, { once: true });
    try {
      const messages = await requested;
      if (kind === requests.dequeue && messages.length > 0) this.#hasServerState = true;
      return messages;
    } finally {
      this.#guard.end();
      if (cancel !== undefined) signal?.removeEventListener('abort', cancel);
    }
  }

  #sendDeliveryRequest(request: DeliveryRequest): Promise<Message[]> {
    const { kind, signal } = request;
    if (kind === requests.dequeue) this.#isStartedAtServer = true;
    const isEnded = signal?.aborted || this.#guard.isClosed;
    return this.#attachment.request<Message[]>(kind, (writer) =>
      writeDeliveryRequest(writer, this.#sessionNumber, isEnded ? { ...request, waitMs: 0 } : request),
    );
  }

  #cancelWait(): void {
    if (!this.#attachment.isCurrent) return;
    this.#link.sendOneWay(requests.cancelWait, (writer) => writer.u32(this.#sessionNumber));
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    this.#guard.assertFree();
    await this.#guard.run(this.#requestForReceipts(requests.release, queue, receipts));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#guard.assertFree();
    validateHoldMs(holdMs);
    await this.#guard.run(this.#requestForReceipts(requests.extend, queue, receipts, holdMs));
  }

  async #requestForReceipts(kind: number, queue: string, receipts: string[], holdMs?: number): Promise<void> {
    assertText('queue', queue);
    assertReceipts(receipts);
    if (!this.#attachment.isCurrent) await this.#attach();
    await this.#attachment.request(kind, (writer) => {
      writer.u32(this.#sessionNumber);
      if (holdMs !== undefined) writer.u32(holdMs);
      writer.text(queue);
      for (const receipt of receipts) writer.text(receipt);
    });
  }

  /** Takes over the open transaction of another session, which has staged enqueues and nothing else. */
  takeStagedFrom(other: RemoteSession): void {
    this.#resetTransaction();
    [this.#staged, other.#staged] = [other.#staged, this.#staged];
  }

  commit(options?: CommitOptions): Promise<LazyCommitResult> {
    const key = options?.idempotencyKey;
    try {
      this.#guard.assertFree();
      this.#assertNotInBranch('commit');
      if (key !== undefined) validateIdempotencyKey(key);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#staged.count === 0 && !this.#isStartedAtServer) {
      return Promise.resolve(new LazyCommitResult([]));
    }
    const committing = this.#commit(key);
    this.#guard.begin(committing);
    return committing;
  }

  async #commit(idempotencyKey: string | undefined): Promise<LazyCommitResult> {
    let sentAt: SentAt | undefined;
    const { hasStatements } = this.#staged;
    try {
      if (!this.#isSendable) await this.#whenSendable();
      this.#lastTransaction += 1;
      sentAt = sentNow(this.#link.ports.clock);
      return await this.#attachment.request<LazyCommitResult>(requests.commit, (writer) => {
        writer.u32(this.#sessionNumber);
        writer.f64(this.#lastTransaction);
        if (idempotencyKey !== undefined) writeIdempotencyKey(writer, idempotencyKey);
        this.#consumers?.writeConsumed(writer);
        this.#staged.writeTo(writer);
      });
    } catch (error) {
      if (sentAt === undefined || !(error instanceof ConnectionLost)) {
        await this.#consumers?.recoverTransacted();
        throw error;
      }
      this.#resetTransaction(); // its part at the instance ended with the commit or with the connection
      const transactionNumber = this.#lastTransaction;
      const { idRuns } = await learnOutcome(this.#attachment, { transactionNumber, sentAt });
      return new LazyCommitResult(idRuns, hasStatements ? 'lost' : []);
    } finally {
      this.#resetTransaction();
      this.#guard.end();
    }
  }

  async commitAndDequeue(
    queue: string,
    options: DequeueOptions = {},
  ): Promise<{ committed: LazyCommitResult; messages: Message[] }> {
    this.#guard.assertFree();
    this.#assertNotInBranch('commitAndDequeue');
    const request = validateDeliveryRequest(requests.dequeue, queue, options);
    if (!this.#isSendable) await this.#guard.run(this.#whenSendable());
    const committing = this.commit();
    const dequeuing = this.#sendDeliveryRequest(request);
    dequeuing.catch(() => undefined); // refused together with the commit
    const committed = await committing;
    this.#guard.begin(dequeuing);
    try {
      this.#isStartedAtServer = true;
      const messages = await dequeuing;
      if (messages.length > 0) this.#hasServerState = true;
      return { committed, messages };
    } catch (error) {
      if (error instanceof ConnectionLost) return { committed, messages: [] };
      throw error;
    } finally {
      this.#guard.end();
    }
  }

  async rollback(): Promise<void> {
    this.#guard.assertFree();
    this.#assertNotInBranch('rollback');
    const isAtServer = this.#isStartedAtServer && this.#attachment.isCurrent;
    this.#resetTransaction();
    if (!isAtServer) return;
    const ended = this.#endAtServer(requests.rollback);
    await this.#guard.run(Promise.all([ended, this.#consumers?.recoverTransacted()]));
  }

  async close(): Promise<void> {
    if (!this.#guard.beginClose()) return;
    if (this.#guard.isBusy) this.#cancelWait();
    await this.#guard.whenIdle();
    await this.#consumers?.closeAll();
    for (const producer of this.#producers) producer.abandon();
    this.#resetTransaction();
    if (this.#attachment.isCurrent) await this.#endAtServer(requests.closeSession);
    this.#onClosed(this);
  }

  /** Rolls back or closes at the instance, which does the same by itself when the connection is lost. */
  async #endAtServer(kind: number): Promise<void> {
    try {
      await this.#attachment.request(kind, (writer) => writer.u32(this.#sessionNumber));
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }

  /** The next operation begins a new transaction. */
  #resetTransaction(): void {
    this.#staged.clear();
    this.#isStartedAtServer = false;
    this.#hasServerState = false;
  }

  /**
   * Opens the session on the current connection. Throws `INSTANCE_UNREACHABLE`, and `TX_NOT_COMMITTED` if the open
   * transaction had messages or payloads on a connection that was lost; the transaction is over then.
   */
  async #attach(): Promise<void> {
    this.#isStartedAtServer = false;
    if (this.#hasServerState) {
      this.#resetTransaction();
      throw new QueueError('TX_NOT_COMMITTED');
    }
    await this.#attachment.attach();
  }
}
