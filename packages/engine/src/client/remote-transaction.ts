/**
 * The open transaction of a remote session: the operations staged here, and whether the instance has a part of it. That part is
 * lost with the connection; the staged operations are not. The outcome of a commit whose answer was lost is learned over the next
 * connection.
 */

import { QueueError } from '../api/errors.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { TransactionNumber } from '../model/ids.ts';
import { LazyCommitResult, type SessionGuard } from '../model/session-calls.ts';
import { requests, returnToText } from '../wire/protocol.ts';
import { learnOutcome, type SentAt, sentNow } from './learn-outcome.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { SessionAttachment } from './session-attachment.ts';
import type { SessionConsumers } from './session-consumers.ts';
import { StagedOperations, writeIdempotencyKey } from './staged-operations.ts';

export class RemoteTransaction {
  readonly #attachment: SessionAttachment;
  /** The guard of the session. */
  readonly #guard: SessionGuard;
  #staged: StagedOperations;
  /** Whether it has dequeued or uploaded: then a part of it is at the instance, on this connection only. */
  #isStartedAtServer = false;
  /** Whether that part has messages or payloads. The transaction loses them if the connection is lost. */
  #hasServerState = false;
  #lastNumber: TransactionNumber = 0;

  constructor(attachment: SessionAttachment, guard: SessionGuard) {
    this.#attachment = attachment;
    this.#guard = guard;
    this.#staged = new StagedOperations(attachment.link.ports.clock);
  }

  get staged(): StagedOperations {
    return this.#staged;
  }

  /** There is nothing to commit. */
  get isEmpty(): boolean {
    return this.#staged.count === 0 && !this.#isStartedAtServer;
  }

  /** Something was staged, dequeued or uploaded. */
  get hasWork(): boolean {
    return this.#staged.count > 0 || this.#hasServerState;
  }

  /** There is something to be rolled back at the instance. */
  get isAtServer(): boolean {
    return this.#isStartedAtServer && this.#attachment.isCurrent;
  }

  /** Messages are requested for it. */
  onRequested(): void {
    this.#isStartedAtServer = true;
  }

  /** It has messages, payloads or a branch at the instance. */
  onServerState(): void {
    this.#isStartedAtServer = true;
    this.#hasServerState = true;
  }

  /** The next operation begins a new one. */
  end(): void {
    this.#staged.clear();
    this.#isStartedAtServer = false;
    this.#hasServerState = false;
  }

  /** Continues the transaction of another session, which has only staged enqueues. */
  takeStagedFrom(other: RemoteTransaction): void {
    this.end();
    [this.#staged, other.#staged] = [other.#staged, this.#staged];
  }

  /** Whether the session is open on the current connection and the instance reads what is sent. */
  get isSendable(): boolean {
    return this.#attachment.isCurrent && !this.#attachment.link.full;
  }

  async whenSendable(): Promise<void> {
    while (!this.isSendable) {
      await (this.#attachment.isCurrent ? this.#attachment.link.drained() : this.attach());
    }
  }

  /**
   * Opens the session on the current connection unless it is. Throws `INSTANCE_UNREACHABLE`, and `TX_NOT_COMMITTED` if the
   * transaction had messages or payloads on a connection that was lost; it is over then.
   */
  async attach(): Promise<void> {
    if (this.#attachment.isCurrent) return;
    this.#isStartedAtServer = false;
    if (this.#hasServerState) {
      this.end();
      throw new QueueError('TX_NOT_COMMITTED');
    }
    await this.#attachment.attach();
  }

  /** The session must be busy until it settles; it ends the call of its guard by itself. */
  async commit(
    idempotencyKey: string | undefined,
    consumers: SessionConsumers | undefined,
  ): Promise<LazyCommitResult> {
    let sentAt: SentAt | undefined;
    const { hasStatements } = this.#staged;
    try {
      if (consumers?.transactedLoss !== undefined) await this.#refuseToCommit(consumers.transactedLoss);
      if (!this.isSendable) await this.whenSendable();
      this.#lastNumber += 1;
      sentAt = sentNow(this.#attachment.link.ports.clock);
      const answer = this.#attachment.request<LazyCommitResult>(requests.commit, (writer) => {
        writer.u32(this.#attachment.sessionNumber);
        writer.f64(this.#lastNumber);
        if (idempotencyKey !== undefined) writeIdempotencyKey(writer, idempotencyKey);
        consumers?.writeConsumed(writer);
        this.#staged.writeTo(writer);
      });
      consumers?.onCommitSent();
      const committed = await answer;
      this.#staged.onAnswered();
      return committed;
    } catch (error) {
      if (sentAt === undefined || !(error instanceof ConnectionLost)) {
        await consumers?.recoverTransacted();
        throw error;
      }
      this.end(); // its part at the instance ended with the commit or with the connection
      const { idRuns } = await learnOutcome(this.#attachment, {
        transactionNumber: this.#lastNumber,
        sentAt,
      });
      return new LazyCommitResult(idRuns, hasStatements ? 'lost' : []);
    } finally {
      this.end();
      this.#guard.end();
    }
  }

  /** Rolls back and throws why a consumer has ended, as the instance does for a commit that names messages of such a consumer. */
  async #refuseToCommit({ error }: { error: unknown }): Promise<never> {
    if (this.isAtServer) await this.rollbackAtServer();
    throw error;
  }

  rollbackAtServer(how: ValidReturn = {}): Promise<void> {
    return this.#endAtServer(requests.rollback, returnToText(how));
  }

  closeAtServer(): Promise<void> {
    return this.#endAtServer(requests.closeSession);
  }

  /** The instance does the same by itself when the connection is lost. */
  async #endAtServer(kind: number, text?: string): Promise<void> {
    try {
      await this.#attachment.request(kind, (writer) => {
        writer.u32(this.#attachment.sessionNumber);
        if (text !== undefined) writer.text(text);
      });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
}
