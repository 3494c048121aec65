/** Streams a payload to its reader, chunk by chunk. Two chunks are in memory at most, whatever the payload's size. */

import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { PayloadId } from '../model/ids.ts';
import type { ChunkedPayload } from '../model/message-record.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';

export type ReadChunk = (key: ChunkKey) => Promise<Uint8Array>;

/**
 * The stream fails with what `readChunk` throws. It fails with `STORAGE_CORRUPT` before its last chunk if the length or
 * the checksum of the payload is not that of what was enqueued.
 */
export function streamPayload(payload: ChunkedPayload | Buffer, readChunk: ReadChunk): Readable {
  if (Buffer.isBuffer(payload)) {
    return Readable.from(payload.length === 0 ? [] : [payload], { objectMode: false });
  }
  return Readable.from(chunksInOrder(payload, readChunk), {
    objectMode: false,
    highWaterMark: limits.chunkBytes,
  });
}

async function* chunksInOrder(
  { payloadId, bytes, crc }: ChunkedPayload,
  readChunk: ReadChunk,
): AsyncGenerator<Buffer> {
  let sum = 0;
  let bytesLeft = bytes;
  let next = readChunk({ payloadId, chunkIndex: 0 });
  for (let chunkIndex = 0; bytesLeft > 0; chunkIndex += 1) {
    const body = await next;
    sum = crc32(body, sum);
    bytesLeft -= body.byteLength;
    if (bytesLeft < 0 || body.byteLength === 0 || (bytesLeft === 0 && sum !== crc)) {
      throw payloadCorrupt(payloadId);
    }
    if (bytesLeft > 0) {
      next = readChunk({ payloadId, chunkIndex: chunkIndex + 1 });
      next.catch(() => undefined); // thrown when its turn comes, unless the reader stops before
    }
    yield Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }
}

function payloadCorrupt(payload: PayloadId): QueueError {
  return new QueueError('STORAGE_CORRUPT', {
    message: `Payload ${payload} differs from what was enqueued`,
    details: { payload },
  });
}
