/**
 * Uploads one payload. One chunk fills while the previous one is written, so an upload has two chunks in memory, and the
 * source waits for the disk. A payload that fits one chunk is returned unchanged, to be stored in the message's record.
 */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { limits } from '../../api/limits.ts';
import { registerWaitEvent } from '../../api/waits.ts';
import type { PayloadId } from '../../model/ids.ts';
import type { ChunkedPayload } from '../../model/message-record.ts';
import type { RecordedTime } from '../../model/wait-recorder.ts';
import { assertStreamedSize, type UploadTarget } from '../../payloads/upload-all.ts';
import { type PayloadStore, payloadWrite } from './payload-store.ts';

export const payloadSource = registerWaitEvent({
  name: 'payload source',
  class: 'network',
  standsFor: 'SQL*Net more data from client',
  about: 'an upload waits until its source gives the next piece',
  isIdle: true,
});

export class PayloadUpload implements UploadTarget<ChunkedPayload | Buffer> {
  readonly #store: PayloadStore;
  readonly #payloadId: PayloadId;
  #filling = newChunk();
  #spare: Buffer | undefined;
  #used = 0;
  #bytes = 0;
  #crc = 0;
  /** An idempotency key compares payloads by it. Costs 0.7 ms a megabyte, a tenth of an upload at most. */
  readonly #sha256 = createHash('sha256');
  /** Chunks that were sent to the writer. */
  #chunkCount = 0;
  #writing: Promise<void> = Promise.resolve();
  #isOpen = true;
  readonly #time: RecordedTime | undefined;

  /**
   * `time`: of the session that waits for the upload, if its program marks when it runs. Throws `UPLOADS_FULL`, `BACKLOG_FULL`.
   * End it with `finish` or `abandon`.
   */
  constructor(store: PayloadStore, time?: RecordedTime) {
    this.#store = store;
    this.#payloadId = store.beginUpload();
    this.#time = time;
    time?.begin(payloadSource);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when more may come. Throws `PAYLOAD_TOO_LARGE` and the storage errors. */
  async write(piece: Uint8Array): Promise<void> {
    assertStreamedSize(this.#bytes + piece.byteLength);
    this.#time?.work();
    this.#bytes += piece.byteLength;
    this.#crc = crc32(piece, this.#crc);
    this.#sha256.update(piece);
    for (let from = 0; from < piece.byteLength; ) {
      if (this.#used === limits.chunkBytes) await this.#writeChunk();
      const to = Math.min(piece.byteLength, from + limits.chunkBytes - this.#used);
      this.#filling.set(piece.subarray(from, to), this.#used);
      this.#used += to - from;
      from = to;
    }
    this.#time?.begin(payloadSource);
  }

  /** Returns the reference to the stored payload, or the payload itself if it fits one chunk. */
  async finish(): Promise<ChunkedPayload | Buffer> {
    this.#time?.work();
    if (this.#chunkCount === 0) {
      this.#end();
      return Buffer.from(this.#filling.subarray(0, this.#used));
    }
    await this.#writeChunk();
    await this.#whenWritten();
    this.#end();
    return {
      payloadId: this.#payloadId,
      bytes: this.#bytes,
      crc: this.#crc,
      sha256: this.#sha256.digest(),
    };
  }

  abandon(): void {
    if (!this.#isOpen) return;
    this.#end();
    this.#store.discard(this.#payloadId, this.#chunkCount); // the chunk in flight is written before it is deleted
  }

  #end(): void {
    this.#isOpen = false;
    this.#store.endUpload();
    this.#time?.end();
    this.#time?.endWork();
  }

  async #whenWritten(): Promise<void> {
    this.#time?.begin(payloadWrite);
    await this.#writing;
    this.#time?.work();
  }

  async #writeChunk(): Promise<void> {
    if (this.#chunkCount > 0) await this.#whenWritten();
    const place = { payloadId: this.#payloadId, chunkIndex: this.#chunkCount };
    this.#chunkCount += 1;
    const body = this.#filling.subarray(0, this.#used);
    this.#writing = this.#store.writeChunk(place, body);
    this.#writing.catch(() => undefined); // the next chunk or `finish` awaits it and throws its error
    const next = this.#spare ?? newChunk();
    this.#spare = this.#filling;
    this.#filling = next;
    this.#used = 0;
  }
}

const newChunk = (): Buffer => Buffer.allocUnsafeSlow(limits.chunkBytes);
