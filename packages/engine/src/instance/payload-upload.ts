/**
 * A payload on its way in. One chunk fills while the one before it is written, so an upload has two of them in memory,
 * and whoever brings the bytes waits for the disk. A payload that fits one chunk is given back as it is: its message then
 * needs no other place than its record.
 */
import { crc32 } from 'node:zlib';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ChunkedPayload } from '../storage/message-record.ts';
import type { StreamedMessage } from '../types.ts';
import type { PayloadStore } from './payload-store.ts';

/** Where `uploadAll` brings what a source gives. */
export interface UploadTarget<T> {
  /** Written so far. */
  readonly bytes: number;
  /** Resolves when more may come. */
  write(piece: Uint8Array): Promise<void>;
  finish(): Promise<T>;
  /** Nothing of it is kept. */
  abandon(): void;
}

export class PayloadUpload implements UploadTarget<ChunkedPayload | Buffer> {
  readonly #store: PayloadStore;
  readonly #payload: number;
  #filling = newChunk();
  #spare: Buffer | undefined;
  #used = 0;
  #bytes = 0;
  #crc = 0;
  /** Chunks that were sent to the writer. */
  #chunks = 0;
  #writing: Promise<void> = Promise.resolve();
  #open = true;

  /** Throws `UPLOADS_FULL`, `BACKLOG_FULL`. To be ended by `finish` or `abandon`. */
  constructor(store: PayloadStore) {
    this.#store = store;
    this.#payload = store.beginUpload();
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when more may come. Throws `PAYLOAD_TOO_LARGE` and the storage errors. */
  async write(piece: Uint8Array): Promise<void> {
    assertStreamable(this.#bytes + piece.byteLength);
    this.#bytes += piece.byteLength;
    this.#crc = crc32(piece, this.#crc);
    for (let from = 0; from < piece.byteLength; ) {
      if (this.#used === limits.chunkBytes) await this.#send();
      const to = Math.min(piece.byteLength, from + limits.chunkBytes - this.#used);
      this.#filling.set(piece.subarray(from, to), this.#used);
      this.#used += to - from;
      from = to;
    }
  }

  /** Where it lies now, or the payload itself if it fits one chunk. */
  async finish(): Promise<ChunkedPayload | Buffer> {
    if (this.#chunks === 0) {
      this.#end();
      return Buffer.from(this.#filling.subarray(0, this.#used));
    }
    await this.#send();
    await this.#writing;
    this.#end();
    return { payload: this.#payload, bytes: this.#bytes, crc: this.#crc };
  }

  abandon(): void {
    if (!this.#open) return;
    this.#end();
    this.#store.discard(this.#payload, this.#chunks); // behind what is on its way
  }

  #end(): void {
    this.#open = false;
    this.#store.endUpload();
  }

  async #send(): Promise<void> {
    await this.#writing;
    const place = { payload: this.#payload, no: this.#chunks };
    this.#chunks += 1;
    const body = this.#filling.subarray(0, this.#used);
    this.#writing = this.#store.write(place, body);
    this.#writing.catch(() => undefined); // heard of by the next one, or at the end
    const next = this.#spare ?? newChunk();
    this.#spare = this.#filling;
    this.#filling = next;
    this.#used = 0;
  }
}

/** Throws `PAYLOAD_TOO_LARGE`. */
export function assertStreamable(bytes: number): void {
  const { streamedBytesMax } = limits;
  if (bytes <= streamedBytesMax) return;
  throw new QueueError('PAYLOAD_TOO_LARGE', {
    sentence: `The payload has more than the ${streamedBytesMax} bytes that a streamed one may have`,
    details: { bytesMax: streamedBytesMax },
  });
}

/** In shared memory: the writer thread reads it where it is. */
function newChunk(): Buffer {
  return Buffer.from(new SharedArrayBuffer(limits.chunkBytes));
}

export type PayloadSource = Pick<StreamedMessage, 'payload' | 'bytes' | 'signal'>;

/**
 * Uploads all that the source has to give, and not more than it said. Throws `PAYLOAD_INCOMPLETE`, `PAYLOAD_LENGTH_WRONG`,
 * and what the upload throws; nothing of it is kept then.
 */
export async function uploadAll<T>(
  upload: UploadTarget<T>,
  { payload, bytes: said, signal }: PayloadSource,
): Promise<T> {
  const pieces = iteratorOf(payload);
  let interrupt: (reason: unknown) => void = () => undefined;
  const onAbort = () => interrupt(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  try {
    assertStreamable(said ?? 0);
    for (;;) {
      const { value, done } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        interrupt = reject; // a source that has nothing to give must not keep the session
        signal?.throwIfAborted();
        pieces.next().then(resolve, reject);
      }).catch(incomplete);
      if (done) break;
      assertBytes(value);
      if (said !== undefined && upload.bytes + value.byteLength > said) throw wrongLength(said, 'more');
      await upload.write(value);
    }
    if (said !== undefined && upload.bytes < said) throw wrongLength(said, upload.bytes);
    return await upload.finish();
  } catch (error) {
    upload.abandon();
    pieces.return?.().catch(() => undefined); // it may be the one that failed
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function iteratorOf(payload: StreamedMessage['payload']): AsyncIterator<Uint8Array> {
  const source = payload as Partial<AsyncIterable<Uint8Array>> | null | undefined;
  if (typeof source?.[Symbol.asyncIterator] === 'function') return source[Symbol.asyncIterator]!();
  throw new QueueError('MESSAGE_INVALID', {
    sentence: 'A streamed payload is a Readable, or anything else that can be iterated asynchronously',
    details: { field: 'payload' },
  });
}

function assertBytes(piece: unknown): asserts piece is Uint8Array {
  if (piece instanceof Uint8Array) return;
  throw new QueueError('MESSAGE_INVALID', {
    sentence: 'A streamed payload comes as bytes',
    details: { field: 'payload' },
  });
}

function incomplete(cause: unknown): never {
  if (cause instanceof QueueError) throw cause;
  throw new QueueError('PAYLOAD_INCOMPLETE', { cause });
}

function wrongLength(said: number, found: number | 'more'): QueueError {
  return new QueueError('PAYLOAD_LENGTH_WRONG', {
    sentence: `The payload was said to have ${said} bytes and has ${found}; nothing of it is kept`,
    details: { said, ...(found !== 'more' && { bytes: found }) },
  });
}
