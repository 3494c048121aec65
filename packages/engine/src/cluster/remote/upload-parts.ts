/**
 * The parts of one payload between the socket and the upload that takes them in. A part is answered when the upload wants
 * the next one, and only so many may come ahead of their answers: so a client is as fast as the disk, and this stays small.
 */
import { limits } from '../../core/limits.ts';
import { protocolError } from './protocol.ts';

interface Part {
  bytes: Buffer;
  taken: PromiseWithResolvers<void>;
}

export class UploadParts implements AsyncIterable<Buffer> {
  readonly #waiting: Part[] = [];
  /** Given to the upload, which is at it. */
  #given: Part | undefined;
  #wanting: PromiseWithResolvers<IteratorResult<Buffer>> | undefined;
  readonly #started = Promise.withResolvers<void>();
  #ended = false;
  #failure: { error: unknown } | undefined;

  constructor() {
    this.#started.promise.catch(() => undefined); // whoever began it may be gone
  }

  /** Resolves when the upload wants a first part; rejects if it does not begin. */
  get wanted(): Promise<void> {
    return this.#started.promise;
  }

  /** Parts that are here. */
  get held(): number {
    return this.#waiting.length + (this.#given === undefined ? 0 : 1);
  }

  /** Resolves when the part was taken in. Throws what the upload failed with, and `PROTOCOL_INVALID`. */
  push(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    const { uploadPartsMax, chunkBytes } = limits;
    if (this.#ended || this.held >= uploadPartsMax || bytes.length === 0 || bytes.length > chunkBytes) {
      return Promise.reject(protocolError('A part of a payload came out of turn, or too large'));
    }
    const part = { bytes, taken: Promise.withResolvers<void>() };
    this.#waiting.push(part);
    this.#give();
    return part.taken.promise;
  }

  /** There are no more. */
  end(): void {
    this.#ended = true;
    this.#give();
  }

  /** The upload failed, or is given up: whoever waits hears of it. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.#started.reject(error);
    this.#given?.taken.reject(error);
    for (const { taken } of this.#waiting.splice(0)) taken.reject(error);
    this.#given = undefined;
    this.#wanting?.reject(error);
    this.#wanting = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return { next: () => this.#next() };
  }

  #next(): Promise<IteratorResult<Buffer>> {
    this.#started.resolve();
    this.#given?.taken.resolve();
    this.#given = undefined;
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    this.#wanting = Promise.withResolvers();
    const { promise } = this.#wanting;
    this.#give();
    return promise;
  }

  #give(): void {
    if (this.#wanting === undefined) return;
    const part = this.#waiting.shift();
    if (part === undefined && !this.#ended) return;
    this.#given = part;
    this.#wanting.resolve(part === undefined ? { value: undefined, done: true } : { value: part.bytes });
    this.#wanting = undefined;
  }
}
