/**
 * The parts of one payload between the socket and the upload that reads them. A part is answered when the upload asks for
 * the next one, and a client may have at most `uploadPartsMax` unanswered parts. That bounds the memory and slows the
 * client down to the speed of the disk.
 */
import { limits } from '../api/limits.ts';
import { protocolError } from '../wire/protocol.ts';

interface Part {
  bytes: Buffer;
  taken: PromiseWithResolvers<void>;
}

export class UploadParts implements AsyncIterable<Buffer> {
  readonly #waiting: Part[] = [];
  /** The part that the upload is writing. */
  #currentPart: Part | undefined;
  #pendingRead: PromiseWithResolvers<IteratorResult<Buffer>> | undefined;
  readonly #started = Promise.withResolvers<void>();
  #ended = false;
  #failure: { error: unknown } | undefined;

  constructor() {
    this.#started.promise.catch(() => undefined); // there may be no caller left that handles the rejection
  }

  /** Resolves when the upload asks for the first part; rejects if the upload is refused. */
  get whenStarted(): Promise<void> {
    return this.#started.promise;
  }

  /** Number of parts in memory. */
  get bufferedParts(): number {
    return this.#waiting.length + (this.#currentPart === undefined ? 0 : 1);
  }

  /** Resolves when the upload has written the part. Rejects with the failure of the upload, and `PROTOCOL_INVALID`. */
  push(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    const { uploadPartsMax, chunkBytes } = limits;
    if (
      this.#ended ||
      this.bufferedParts >= uploadPartsMax ||
      bytes.length === 0 ||
      bytes.length > chunkBytes
    ) {
      return Promise.reject(protocolError('A part of a payload is too large, empty or out of turn'));
    }
    const part = { bytes, taken: Promise.withResolvers<void>() };
    this.#waiting.push(part);
    this.#deliverNext();
    return part.taken.promise;
  }

  /** The payload is complete. */
  end(): void {
    this.#ended = true;
    this.#deliverNext();
  }

  /** The upload failed or was cancelled: rejects all that wait. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.#started.reject(error);
    this.#currentPart?.taken.reject(error);
    for (const { taken } of this.#waiting.splice(0)) taken.reject(error);
    this.#currentPart = undefined;
    this.#pendingRead?.reject(error);
    this.#pendingRead = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return { next: () => this.#next() };
  }

  #next(): Promise<IteratorResult<Buffer>> {
    this.#started.resolve();
    this.#currentPart?.taken.resolve();
    this.#currentPart = undefined;
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    this.#pendingRead = Promise.withResolvers();
    const { promise } = this.#pendingRead;
    this.#deliverNext();
    return promise;
  }

  #deliverNext(): void {
    if (this.#pendingRead === undefined) return;
    const part = this.#waiting.shift();
    if (part === undefined && !this.#ended) return;
    this.#currentPart = part;
    this.#pendingRead.resolve(part === undefined ? { value: undefined, done: true } : { value: part.bytes });
    this.#pendingRead = undefined;
  }
}
