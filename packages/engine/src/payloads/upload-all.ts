/** Uploads a payload from its source, piece by piece, to wherever the session keeps payloads. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { StreamedMessage } from '../api/message.ts';

/** Takes the pieces of one payload. */
export interface UploadTarget<T> {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Resolves when the next piece may be written. */
  write(piece: Uint8Array): Promise<void>;
  finish(): Promise<T>;
  /** Discards what was written. */
  abandon(): void;
}

export type PayloadSource = Pick<StreamedMessage, 'payload' | 'bytes' | 'signal'>;

/**
 * Uploads the source to its end. Throws `PAYLOAD_INCOMPLETE` if the source fails, `PAYLOAD_LENGTH_WRONG` if it gives more
 * or fewer bytes than it announced, and what the upload throws; the upload is abandoned then.
 */
export async function uploadAll<T>(
  upload: UploadTarget<T>,
  { payload, bytes: announcedBytes, signal }: PayloadSource,
): Promise<T> {
  let pieces: AsyncIterator<Uint8Array> | undefined;
  let interrupt: (reason: unknown) => void = () => undefined;
  const onAbort = () => interrupt(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  try {
    const source = iteratorOf(payload);
    pieces = source;
    assertStreamedSize(announcedBytes ?? 0);
    for (;;) {
      const { value, done } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        interrupt = reject; // an abort must not wait for a source that gives nothing
        signal?.throwIfAborted();
        source.next().then(resolve, reject);
      }).catch(throwIncomplete);
      if (done) break;
      assertBytes(value);
      if (announcedBytes !== undefined && upload.bytes + value.byteLength > announcedBytes) {
        throw wrongLength(announcedBytes, 'more');
      }
      await upload.write(value);
    }
    if (announcedBytes !== undefined && upload.bytes < announcedBytes) {
      throw wrongLength(announcedBytes, upload.bytes);
    }
    return await upload.finish();
  } catch (error) {
    upload.abandon();
    pieces?.return?.().catch(() => undefined); // the source itself may have failed
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function iteratorOf(payload: StreamedMessage['payload']): AsyncIterator<Uint8Array> {
  const source = payload as Partial<AsyncIterable<Uint8Array>> | null | undefined;
  if (typeof source?.[Symbol.asyncIterator] === 'function') return source[Symbol.asyncIterator]!();
  throw new QueueError('MESSAGE_INVALID', {
    message: 'A streamed payload is a Readable or another async iterable',
    details: { field: 'payload' },
  });
}

function assertBytes(piece: unknown): asserts piece is Uint8Array {
  if (piece instanceof Uint8Array) return;
  throw new QueueError('MESSAGE_INVALID', {
    message: 'A streamed payload consists of Uint8Array pieces',
    details: { field: 'payload' },
  });
}

function throwIncomplete(cause: unknown): never {
  if (cause instanceof QueueError) throw cause;
  throw new QueueError('PAYLOAD_INCOMPLETE', { cause });
}

function wrongLength(announced: number, found: number | 'more'): QueueError {
  return new QueueError('PAYLOAD_LENGTH_WRONG', {
    message: `The payload was announced with ${announced} bytes and has ${found}; it was discarded`,
    details: { said: announced, ...(found !== 'more' && { bytes: found }) },
  });
}

/** Throws `PAYLOAD_TOO_LARGE`. */
export function assertStreamedSize(bytes: number): void {
  const { streamedBytesMax } = limits;
  if (bytes <= streamedBytesMax) return;
  throw new QueueError('PAYLOAD_TOO_LARGE', {
    message: `The payload is larger than the ${streamedBytesMax} bytes allowed for a streamed payload`,
    details: { bytesMax: streamedBytesMax },
  });
}
