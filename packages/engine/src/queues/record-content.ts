/** The content of a record for a message that is browsed and not delivered. */
import type { Message } from '../api/message.ts';
import { type ChunkedPayload, type RecordFields, readRecord } from '../model/message-record.ts';
import { type ReadChunk, streamPayload } from '../payloads/payload-stream.ts';

/**
 * Property with the location of a browsed message's payload, for the server that sends the message on. It is invisible to
 * callers.
 */
export const chunkedPayloadKey = Symbol('chunked payload');

export type RecordContentView = Omit<RecordFields, 'chunked'> &
  Pick<Message, 'payloadBytes' | 'streamed' | 'payloadStream'> & { [chunkedPayloadKey]?: ChunkedPayload };

export function readContent(source: Buffer, start: number, readChunk: ReadChunk): RecordContentView {
  const { chunked, ...content } = readRecord(source, start);
  return {
    ...content,
    payloadBytes: chunked?.bytes ?? content.payload.length,
    streamed: chunked !== undefined,
    payloadStream: () => streamPayload(chunked ?? content.payload, readChunk),
    ...(chunked !== undefined && { [chunkedPayloadKey]: chunked }),
  };
}
