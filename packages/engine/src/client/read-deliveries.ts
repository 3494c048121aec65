/** Reads the messages of a delivery from the frames of its answer (format: `wire/protocol.ts`). */

import type { Message } from '../api/message.ts';
import type { Seq } from '../model/ids.ts';
import { type ChunkedPayload, RecordMessage, recordBytesMin, recordEnd } from '../model/message-record.ts';
import { type ReadChunk, streamPayload } from '../payloads/payload-stream.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { protocolError } from '../wire/protocol.ts';

/** Appends the messages of a frame to `out`. They read payloads in chunks through `readChunk`. */
export function readDeliveries(body: BodyReader, out: Message[], readChunk: ReadChunk): void {
  const { source } = body;
  while (body.bytesLeft > 0) {
    const logId = body.u32();
    const firstSeq = body.f64();
    const count = body.u32();
    const delivery = {
      readChunk,
      idPrefix: logId === 0 ? '' : `${logId}.`,
      deliveryCount: body.u32(),
      receipt: body.text(),
    };
    if (delivery.receipt !== '' && count !== 1) throw protocolError('A receipt is given to several messages');
    const bytes = body.u32();
    let start = body.skip(bytes);
    const end = start + bytes;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      if (start + 4 > end) throw protocolError('A delivery has fewer records than its header says');
      const nextStart = recordEnd(source, start);
      if (nextStart - start < recordBytesMin || nextStart > end) {
        throw protocolError('A record of a delivery has an invalid length');
      }
      out.push(new RemoteMessage(delivery, seq, source, start));
      start = nextStart;
    }
    if (start !== end) throw protocolError('A delivery has more records than its header says');
  }
}

/** The values that all messages of one run share. */
interface ReceivedDelivery {
  readChunk: ReadChunk;
  idPrefix: string;
  deliveryCount: number;
  receipt: string;
}

class RemoteMessage extends RecordMessage {
  readonly #delivery: ReceivedDelivery;

  constructor(delivery: ReceivedDelivery, seq: Seq, source: Buffer, start: number) {
    super(seq, source, start);
    this.#delivery = delivery;
  }

  protected override get idPrefix(): string {
    return this.#delivery.idPrefix;
  }

  override get receipt(): string {
    return this.#delivery.receipt;
  }

  override get deliveryCount(): number {
    return this.#delivery.deliveryCount;
  }

  protected override streamPayload(payload: ChunkedPayload | Buffer): ReturnType<Message['payloadStream']> {
    return streamPayload(payload, this.#delivery.readChunk);
  }
}
