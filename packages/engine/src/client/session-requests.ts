/** The calls of a remote session that are no part of its transaction: each is one request, sent at once. */
import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { assertReceipts, assertText, requests, returnToText } from '../wire/protocol.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { RemoteTransaction } from './remote-transaction.ts';
import type { SessionAttachment } from './session-attachment.ts';
import { StagedOperations } from './staged-operations.ts';

export class SessionRequests {
  readonly #attachment: SessionAttachment;
  /** Opens the session on the current connection. */
  readonly #transaction: RemoteTransaction;
  /** The messages of an `enqueueNow`, empty between calls; made at the first. */
  #immediate: StagedOperations | undefined;

  constructor(attachment: SessionAttachment, transaction: RemoteTransaction) {
    this.#attachment = attachment;
    this.#transaction = transaction;
  }

  async enqueueNow(queue: string, messages: readonly NewMessage[]): Promise<LazyCommitResult> {
    this.#immediate ??= new StagedOperations(this.#attachment.link.ports.clock);
    const operation = this.#immediate;
    let isSent = false;
    try {
      for (const message of messages) operation.enqueue(queue, message);
      await this.#transaction.whenSendable();
      isSent = true;
      const committed = await this.#attachment.request<LazyCommitResult>(requests.enqueueNow, (writer) => {
        writer.u32(this.#attachment.sessionNumber);
        operation.writeTo(writer);
      });
      operation.onAnswered();
      return committed;
    } catch (error) {
      if (!isSent || !(error instanceof ConnectionLost)) throw error;
      throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { details: error.details, cause: error });
    } finally {
      operation.clear();
    }
  }

  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    await this.#transaction.attach();
    const [message] = await this.#attachment.request<[Message]>(requests.messageOfReceipt, (writer) => {
      writer.u32(this.#attachment.sessionNumber);
      writer.text(queue);
      writer.text(receipt);
    });
    return message;
  }

  release(queue: string, receipts: string[], how: ValidReturn): Promise<void> {
    const text = returnToText(how);
    return this.#requestForReceipts(requests.release, queue, receipts, (writer) => writer.text(text));
  }

  extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    return this.#requestForReceipts(requests.extend, queue, receipts, (writer) => writer.u32(holdMs));
  }

  async #requestForReceipts(
    kind: number,
    queue: string,
    receipts: string[],
    writeOptions: (writer: FrameWriter) => void,
  ): Promise<void> {
    assertText('queue', queue);
    assertReceipts(receipts);
    await this.#transaction.attach();
    await this.#attachment.request(kind, (writer) => {
      writer.u32(this.#attachment.sessionNumber);
      writeOptions(writer);
      writer.text(queue);
      for (const receipt of receipts) writer.text(receipt);
    });
  }

  /** Ends a wait for messages, which is then answered without any. */
  cancelWait(): void {
    if (!this.#attachment.isCurrent) return;
    this.#attachment.link.sendOneWay(requests.cancelWait, (writer) =>
      writer.u32(this.#attachment.sessionNumber),
    );
  }
}
