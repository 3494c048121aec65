/** Payloads that a remote session sends ahead of its commit, in chunks. */

import type { NewMessage, StreamedMessage } from '../api/message.ts';
import type { UploadNumber } from '../model/ids.ts';
import { uploadAll } from '../payloads/upload-all.ts';
import type { RemoteTransaction } from './remote-transaction.ts';
import { RemoteUpload } from './remote-upload.ts';
import type { SessionAttachment } from './session-attachment.ts';

export class SessionUploads {
  readonly #attachment: SessionAttachment;
  readonly #transaction: RemoteTransaction;
  /** Aborted when the session is closed. */
  readonly #closingSignal: AbortSignal;
  #lastNumber: UploadNumber = 0;

  constructor(attachment: SessionAttachment, transaction: RemoteTransaction, closingSignal: AbortSignal) {
    this.#attachment = attachment;
    this.#transaction = transaction;
    this.#closingSignal = closingSignal;
  }

  /** Uploads the payload and stages its message; `content` is what it has besides. */
  async upload(queue: string, source: StreamedMessage, content: NewMessage): Promise<{ bytes: number }> {
    await this.#transaction.attach();
    this.#lastNumber += 1;
    const upload = new RemoteUpload({ attachment: this.#attachment, uploadNumber: this.#lastNumber });
    await upload.begin(queue);
    const signals = [this.#closingSignal, upload.connectionLost, ...(source.signal ? [source.signal] : [])];
    const payload = await uploadAll(upload, { ...source, signal: AbortSignal.any(signals) });
    const { staged } = this.#transaction;
    try {
      if (Buffer.isBuffer(payload)) staged.enqueue(queue, { ...content, payload });
      else staged.enqueueUploaded(queue, payload.uploadNumber, content);
    } catch (error) {
      upload.abandon();
      throw error;
    }
    if (!Buffer.isBuffer(payload)) this.#transaction.onServerState();
    return { bytes: upload.bytes };
  }
}
