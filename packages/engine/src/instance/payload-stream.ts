/** A payload on its way out, chunk by chunk: one being read, one ahead, whatever its size. */
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ChunkedPayload } from '../storage/message-record.ts';
import type { ChunkPlace } from '../storage/payload-table.ts';

export type ReadChunk = (place: ChunkPlace) => Promise<Uint8Array>;

/** Fails with what `read` throws, and with `STORAGE_CORRUPT` before its last chunk if all of it is not what was enqueued. */
export function streamPayload(payload: ChunkedPayload, read: ReadChunk): Readable {
  return Readable.from(inOrder(payload, read), { objectMode: false, highWaterMark: limits.chunkBytes });
}

/** One that lies in memory. */
export function streamBytes(payload: Buffer): Readable {
  return Readable.from(payload.length === 0 ? [] : [payload], { objectMode: false });
}

async function* inOrder({ payload, bytes, crc }: ChunkedPayload, read: ReadChunk): AsyncGenerator<Buffer> {
  let sum = 0;
  let left = bytes;
  let next = read({ payload, no: 0 });
  for (let no = 0; left > 0; no += 1) {
    const body = await next;
    sum = crc32(body, sum);
    left -= body.byteLength;
    if (left < 0 || body.byteLength === 0 || (left === 0 && sum !== crc)) throw damaged(payload);
    if (left > 0) {
      next = read({ payload, no: no + 1 });
      next.catch(() => undefined); // heard of when its turn comes, unless nobody reads on
    }
    yield Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }
}

function damaged(payload: number): QueueError {
  return new QueueError('STORAGE_CORRUPT', {
    sentence: `Payload ${payload} is not what was enqueued`,
    details: { payload },
  });
}
