/** What the record of a message tells when the message is browsed and not delivered. */
import type { Message } from '../api/message.ts';
import { type ChunkedPayload, type RecordFields, readRecord } from '../model/message-record.ts';
import { type ReadChunk, streamPayload } from '../payloads/payload-stream.ts';

/** Where the payload of a browsed message is stored, for the server that passes the message on. Callers do not see it. */
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
