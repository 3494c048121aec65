/**
 * A session of an instance in another process. Enqueues and acknowledgements are staged here and travel with the commit in
 * one round trip; a dequeue is one round trip, and waits at the instance.
 *
 * The session outlives its connection. A transaction that has dequeued or uploaded ends with the connection, because its
 * messages go back to their queues (`RemoteTransaction`).
 */
import type {
  ClientSession,
  ClientSessionOptions,
  ConsumerOptions,
  ProducerOptions,
} from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message, NewMessage, StreamedMessage } from '../api/message.ts';
import type { CommitOptions, DequeueOptions, ReceiveOptions, ReturnOptions } from '../api/session.ts';
import type { SqlParameters } from '../api/sql.ts';
import { assertFields } from '../model/call-arguments.ts';
import { clientSessionFields } from '../model/call-fields.ts';
import { validateReturn } from '../model/failed-attempts.ts';
import {
  assertNewMessage,
  assertTransactionSize,
  contentOfStreamed,
  LazyCommitResult,
  recordBytes,
  refusedInBranch,
  SessionGuard,
  validateCommitOptions,
  validateHoldMs,
} from '../model/session-calls.ts';
import { validateStatement } from '../model/sql-statement.ts';
import { assertReceipts, assertText, requests } from '../wire/protocol.ts';
import type { ClientLink } from './client-link.ts';
import { type DeliveryRequest, validateDeliveryRequest, writeDeliveryRequest } from './delivery-request.ts';
import { ConnectionLost } from './pending-requests.ts';
import { RemoteBranches } from './remote-branches.ts';
import type { ConsumerSession, RemoteConsumer } from './remote-consumer.ts';
import { type ProducerSession, RemoteProducer } from './remote-producer.ts';
import { RemoteTransaction } from './remote-transaction.ts';
import { SessionAttachment } from './session-attachment.ts';
import { SessionConsumers } from './session-consumers.ts';
import type { SessionIds } from './session-ids.ts';
import type { SessionPrefetch } from './session-prefetch.ts';
import { SessionRequests } from './session-requests.ts';
import { SessionUploads } from './session-uploads.ts';

export interface RemoteSessionContext {
  link: ClientLink;
  ids: SessionIds;
  onClosed(session: RemoteSession): void;
}

export class RemoteSession implements ClientSession {
  readonly id: string;
  readonly #attachment: SessionAttachment;
  readonly #guard: SessionGuard;
  readonly #onClosed: (session: RemoteSession) => void;
  readonly #transaction: RemoteTransaction;
  readonly #requests: SessionRequests;
  readonly #prefetchMessages: number;
  #uploads: SessionUploads | undefined;
  #lastProducer = 0;
  readonly #producers = new Set<RemoteProducer>();
  #branches: RemoteBranches | undefined;
  #consumers: SessionConsumers | undefined;

  /** Throws `OPTIONS_INVALID`. */
  constructor({ link, ids, onClosed }: RemoteSessionContext, options: ClientSessionOptions = {}) {
    assertFields(options, clientSessionFields);
    const { prefetch = 0 } = options;
    validatePrefetch(prefetch);
    const { sessionNumber, sessionId } = ids.next();
    this.id = sessionId.toString('hex');
    this.#attachment = new SessionAttachment(link, { sessionNumber, sessionId });
    this.#guard = new SessionGuard(this.id);
    this.#transaction = new RemoteTransaction(this.#attachment, this.#guard);
    this.#requests = new SessionRequests(this.#attachment, this.#transaction);
    this.#prefetchMessages = prefetch;
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
    const transaction = this.#transaction;
    return new RemoteBranches(this.#attachment, {
      guard: this.#guard,
      get hasWork() {
        return transaction.hasWork;
      },
      beforeStart: () => this.#consumers?.assertMayStartBranch(),
      send: (json, options) => this.#sendBranchCall(json, options),
      onStarted: () => transaction.onServerState(),
      onFlushed: () => transaction.staged.clear(),
      onEnded: () => transaction.end(),
    });
  }

  async #sendBranchCall(json: string, { withStaged }: { withStaged: boolean }): Promise<void> {
    await this.#transaction.whenSendable();
    await this.#attachment.request(requests.branchCall, (writer) => {
      writer.u32(this.#attachment.sessionNumber);
      writer.text(json);
      if (withStaged) this.#transaction.staged.writeTo(writer);
    });
  }

  async openConsumer(queue: string, options: ConsumerOptions = {}): Promise<RemoteConsumer> {
    this.#guard.assertOpen();
    return await this.#ownConsumers().open(queue, options);
  }

  #ownConsumers(): SessionConsumers {
    this.#consumers ??= new SessionConsumers(this.#asConsumerSession(), this.#prefetchMessages);
    return this.#consumers;
  }

  openProducer(queue: string, options: ProducerOptions = {}): RemoteProducer {
    this.#guard.assertOpen();
    const { producersPerSessionMax } = limits;
    if (this.#producers.size >= producersPerSessionMax)
      throw new QueueError('PRODUCERS_FULL', { details: { producersPerSessionMax } });
    this.#lastProducer += 1;
    const producer = new RemoteProducer(this.#asConsumerSession(), this.#lastProducer, queue, options);
    this.#producers.add(producer);
    return producer;
  }

  #asConsumerSession(): ConsumerSession & ProducerSession {
    const session = this;
    return {
      attachment: this.#attachment,
      get isInBranch() {
        return session.#branches?.isActive === true;
      },
      assertOpen: () => this.#guard.assertOpen(),
      attach: () => this.#transaction.attach(),
      onTransacted: () => this.#transaction.onServerState(),
      dequeue: (queue, options) => this.dequeue(queue, options),
      onProducerClosed: (producer) => this.#producers.delete(producer),
    };
  }

  #assertNotInBranch(call: string): void {
    if (this.#branches?.isActive === true) throw refusedInBranch(call);
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#guard.assertFree();
    assertNewMessage(message);
    this.#transaction.staged.enqueue(queue, message);
  }

  async enqueueNow(queue: string, ...messages: NewMessage[]): Promise<LazyCommitResult> {
    this.#guard.assertFree();
    assertText('queue', queue);
    for (const message of messages) assertNewMessage(message);
    if (messages.length === 0) return new LazyCommitResult([]);
    return await this.#guard.run(this.#requests.enqueueNow(queue, messages));
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#guard.assertFree();
    this.#transaction.staged.acknowledge(queue, receipts);
  }

  execute(sql: string, parameters: SqlParameters = []): void {
    this.#guard.assertFree();
    this.#transaction.staged.execute(validateStatement(sql, parameters).statement);
  }

  async query(): Promise<never> {
    throw new QueueError('QUERY_UNSUPPORTED');
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#guard.assertFree();
    const content = contentOfStreamed(message);
    assertText('queue', queue);
    recordBytes(content);
    this.#uploads ??= new SessionUploads(this.#attachment, this.#transaction, this.#guard.closingSignal);
    return await this.#guard.run(this.#uploads.upload(queue, message, content));
  }

  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    this.#guard.assertFree();
    assertText('queue', queue);
    assertReceipts([receipt]);
    return await this.#guard.run(this.#requests.messageOfReceipt(queue, receipt));
  }

  dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    const prefetch = this.#prefetchOf(queue, options);
    if (prefetch !== undefined) return this.#dequeueAhead(prefetch, queue, options);
    return this.#requestDelivery(requests.dequeue, queue, options);
  }

  dequeueNow(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    return this.#requestDelivery(requests.dequeueNow, queue, options);
  }

  receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    return this.#requestDelivery(requests.receive, queue, options);
  }

  #requestDelivery(kind: number, queue: string, options: ReceiveOptions): Promise<Message[]> {
    try {
      this.#guard.assertFree();
      const request = validateDeliveryRequest(kind, queue, options);
      const requested = this.#attachment.isCurrent
        ? this.#sendDeliveryRequest(request)
        : this.#transaction.attach().then(() => this.#sendDeliveryRequest(request));
      return this.#whileWaiting(request, requested);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Keeps the session busy until the messages are there, and lets the caller's signal end the wait. */
  async #whileWaiting({ kind, signal }: DeliveryRequest, requested: Promise<Message[]>): Promise<Message[]> {
    this.#guard.begin(requested);
    const cancel = signal && (() => this.#cancelWait());
    if (cancel !== undefined) signal?.addEventListener('abort', cancel, { once: true });
    try {
      const messages = await requested;
      if (kind === requests.dequeue && messages.length > 0) this.#transaction.onServerState();
      return messages;
    } finally {
      this.#guard.end();
      if (cancel !== undefined) signal?.removeEventListener('abort', cancel);
    }
  }

  #sendDeliveryRequest(request: DeliveryRequest): Promise<Message[]> {
    const { kind, signal } = request;
    if (kind === requests.dequeue) this.#transaction.onRequested();
    const isEnded = signal?.aborted || this.#guard.isClosed;
    return this.#attachment.request<Message[]>(kind, (writer) =>
      writeDeliveryRequest(
        writer,
        this.#attachment.sessionNumber,
        isEnded ? { ...request, waitMs: 0 } : request,
      ),
    );
  }

  #prefetchOf(queue: string, options: DequeueOptions): SessionPrefetch | undefined {
    if (this.#prefetchMessages === 0) return undefined;
    return this.#ownConsumers().prefetchOf(queue, options?.subscriber);
  }

  #dequeueAhead(prefetch: SessionPrefetch, queue: string, options: DequeueOptions): Promise<Message[]> {
    try {
      this.#guard.assertFree();
      const request = validateDeliveryRequest(requests.dequeue, queue, options);
      assertTransactionSize(prefetch.taken + request.max, 0);
      const messages = prefetch.take(request.max);
      if (messages !== undefined) return Promise.resolve(messages);
      const dequeue = {
        isEnded: () => this.#guard.isClosed,
        plain: () => this.#sendDeliveryRequest(request),
      };
      return this.#whileWaiting(request, prefetch.request(request, dequeue));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #cancelWait(): void {
    this.#requests.cancelWait();
    this.#consumers?.cancelWait();
  }

  async release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    const how = validateReturn(options);
    await this.#guard.run(this.#requests.release(queue, receipts, how));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#guard.assertFree();
    validateHoldMs(holdMs);
    await this.#guard.run(this.#requests.extend(queue, receipts, holdMs));
  }

  /** Takes over the open transaction of another session, which has staged enqueues and nothing else. */
  takeStagedFrom(other: RemoteSession): void {
    this.#transaction.takeStagedFrom(other.#transaction);
  }

  commit(options?: CommitOptions): Promise<LazyCommitResult> {
    let key: string | undefined;
    try {
      this.#guard.assertFree();
      this.#assertNotInBranch('commit');
      key = validateCommitOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#transaction.isEmpty) return Promise.resolve(new LazyCommitResult([]));
    const committing = this.#transaction.commit(key, this.#consumers);
    this.#guard.begin(committing);
    return committing;
  }

  async commitAndDequeue(
    queue: string,
    options: DequeueOptions = {},
  ): Promise<{ committed: LazyCommitResult; messages: Message[] }> {
    this.#guard.assertFree();
    this.#assertNotInBranch('commitAndDequeue');
    const request = validateDeliveryRequest(requests.dequeue, queue, options);
    if (!this.#transaction.isSendable) await this.#guard.run(this.#transaction.whenSendable());
    // Not behind a commit that requests the next messages itself, nor behind one that is refused without a request.
    const isApart =
      this.#prefetchOf(queue, options) !== undefined || this.#consumers?.transactedLoss !== undefined;
    const committing = this.commit();
    const dequeuing = isApart
      ? committing.then(() => this.dequeue(queue, options))
      : this.#sendDeliveryRequest(request);
    const committed = await committing.catch((error: unknown) => this.#afterRefusal(error, dequeuing));
    try {
      return { committed, messages: isApart ? await dequeuing : await this.#ofTransaction(dequeuing) };
    } catch (error) {
      if (error instanceof ConnectionLost) return { committed, messages: [] };
      throw error;
    }
  }

  /**
   * If the commit is refused, the instance refuses the dequeue as well. A dequeue that arrives later is carried out, and its
   * messages are returned.
   */
  async #afterRefusal(error: unknown, dequeuing: Promise<Message[]>): Promise<never> {
    const returned = dequeuing.then(
      (messages) => (messages.length > 0 ? this.#transaction.rollbackAtServer() : undefined),
      () => undefined,
    );
    await this.#guard.run(returned);
    throw error;
  }

  /** Adds the messages of a request that was sent behind the commit to the next transaction. */
  async #ofTransaction(dequeuing: Promise<Message[]>): Promise<Message[]> {
    this.#guard.begin(dequeuing);
    try {
      this.#transaction.onRequested();
      const messages = await dequeuing;
      if (messages.length > 0) this.#transaction.onServerState();
      return messages;
    } finally {
      this.#guard.end();
    }
  }

  async rollback(options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    this.#assertNotInBranch('rollback');
    const how = validateReturn(options);
    const { isAtServer } = this.#transaction;
    this.#transaction.end();
    if (!isAtServer) return;
    const ended = this.#transaction.rollbackAtServer(how);
    await this.#guard.run(Promise.all([ended, this.#consumers?.recoverTransacted(how)]));
  }

  async close(): Promise<void> {
    if (!this.#guard.beginClose()) return;
    if (this.#guard.isBusy) this.#cancelWait();
    await this.#guard.whenIdle();
    await this.#consumers?.closeAll();
    for (const producer of this.#producers) producer.abandon();
    this.#transaction.end();
    if (this.#attachment.isCurrent) await this.#transaction.closeAtServer();
    this.#onClosed(this);
  }
}

/** Throws `OPTIONS_INVALID`. */
function validatePrefetch(messages: number): void {
  const most = limits.pipelineMessagesMax;
  if (Number.isInteger(messages) && messages >= 0 && messages <= most) return;
  throw new QueueError('OPTIONS_INVALID', {
    message: `prefetch is ${messages}; a whole number from 0 to ${most} is needed`,
    details: { option: 'prefetch' },
  });
}
