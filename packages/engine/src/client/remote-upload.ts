/**
 * Uploads a payload to an instance in another process, in parts of one chunk each. At most two parts are unanswered: then
 * the source has to wait, which bounds the memory on both sides. A payload of a single part is not uploaded; it travels
 * with its message.
 */

import { limits } from '../api/limits.ts';
import type { LinkGeneration, UploadNumber } from '../model/ids.ts';
import { assertStreamedSize, type UploadTarget } from '../payloads/upload-all.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { requests } from '../wire/protocol.ts';
import type { SessionAttachment } from './session-attachment.ts';

interface UploadContext {
  attachment: SessionAttachment;
  uploadNumber: UploadNumber;
}

/** A payload that is stored at the instance, under a number that the session gave it. */
export interface RemotePayload {
  uploadNumber: UploadNumber;
}

export class RemoteUpload implements UploadTarget<RemotePayload | Buffer> {
  readonly #context: UploadContext;
  /** Generation of the connection on which the upload began. No other connection can continue it. */
  readonly #generation: LinkGeneration;
  /** Aborted when that connection is lost. */
  readonly connectionLost: AbortSignal;
  #partBuffer = Buffer.allocUnsafeSlow(limits.chunkBytes);
  #partBytes = 0;
  #bytes = 0;
  #partsSent = 0;
  readonly #unanswered: Promise<void>[] = [];

  /** The session must be open on the current connection. */
  constructor(context: UploadContext) {
    this.#context = context;
    const { link } = context.attachment;
    this.#generation = link.generation;
    this.connectionLost = link.connectionEnded;
  }

  get #isAttached(): boolean {
    const { link } = this.#context.attachment;
    return link.isOpen && link.generation === this.#generation;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Must be followed by `finish` or `abandon`. Throws the refusal of the instance. */
  begin(queue: string): Promise<void> {
    return this.#request(requests.beginUpload, (writer) => writer.text(queue));
  }

  async write(piece: Uint8Array): Promise<void> {
    assertStreamedSize(this.#bytes + piece.byteLength);
    this.#bytes += piece.byteLength;
    for (let from = 0; from < piece.byteLength; ) {
      if (this.#partBytes === limits.chunkBytes) await this.#sendPart();
      const to = Math.min(piece.byteLength, from + limits.chunkBytes - this.#partBytes);
      this.#partBuffer.set(piece.subarray(from, to), this.#partBytes);
      this.#partBytes += to - from;
      from = to;
    }
  }

  async finish(): Promise<RemotePayload | Buffer> {
    if (this.#partsSent === 0) {
      this.abandon();
      return this.#partBuffer.subarray(0, this.#partBytes);
    }
    await this.#sendPart();
    await Promise.all(this.#unanswered);
    await this.#request(requests.finishUpload, () => undefined);
    return { uploadNumber: this.#context.uploadNumber };
  }

  abandon(): void {
    if (!this.#isAttached) return; // the instance discarded it with the connection
    this.#context.attachment.link.sendOneWay(requests.cancelUpload, (writer) => this.#writeNumbers(writer));
  }

  async #sendPart(): Promise<void> {
    if (this.#unanswered.length >= limits.uploadPartsMax) await this.#unanswered.shift();
    while (this.#isAttached && this.#context.attachment.link.full)
      await this.#context.attachment.link.drained();
    let isShared = false;
    const answer = this.#request(requests.uploadPart, (writer) => {
      isShared = writer.sharedBytes(this.#partBuffer, 0, this.#partBytes);
    });
    if (isShared) this.#partBuffer = Buffer.allocUnsafeSlow(limits.chunkBytes);
    answer.catch(() => undefined); // thrown by a later part, or by `finish`
    this.#unanswered.push(answer);
    this.#partsSent += 1;
    this.#partBytes = 0;
  }

  async #request(kind: number, write: (writer: FrameWriter) => void): Promise<void> {
    if (!this.#isAttached) throw this.connectionLost.reason;
    await this.#context.attachment.request(kind, (writer) => {
      this.#writeNumbers(writer);
      write(writer);
    });
  }

  #writeNumbers(writer: FrameWriter): void {
    writer.u32(this.#context.attachment.sessionNumber);
    writer.u32(this.#context.uploadNumber);
  }
}
