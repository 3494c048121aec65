/**
 * Messages on their way to a client, as runs of consecutive records in the engine's own format:
 *
 *     u32 shard (0: an unsharded queue) · f64 first sequence number · u32 count · u32 delivery count
 *     text: what follows place and number in each receipt · u32 bytes · records
 *
 * What one dequeue took from one place goes as one run, whose records are copied together and not looked at.
 */
import type { Readable } from 'node:stream';
import { limits } from '../../core/limits.ts';
import { DeliveredMessage } from '../../instance/hand-out.ts';
import { type ReadChunk, streamPayload } from '../../instance/payload-stream.ts';
import { RecordMessage } from '../../instance/record-message.ts';
import {
  type ChunkedPayload,
  recordBytes,
  recordBytesMin,
  recordEnd,
  writeRecord,
} from '../../storage/message-record.ts';
import type { Message, NewMessage } from '../../types.ts';
import type { BodyReader } from './body-reader.ts';
import type { Outbox } from './outbox.ts';
import { protocolError, replies } from './protocol.ts';

/**
 * Answers a dequeue, in several frames if it is large. Where the client is slow to read, the rest waits for it, and the
 * promise that is returned then tells when all was sent.
 */
export function sendHandOuts(
  outbox: Outbox,
  request: number,
  messages: readonly Message[],
): Promise<void> | undefined {
  for (let sent = 0; ; ) {
    if (outbox.full) return sendWhenDrained(outbox, request, messages.slice(sent));
    sent += sendFrame(outbox, request, messages, sent);
    if (sent === messages.length) return undefined;
  }
}

async function sendWhenDrained(outbox: Outbox, request: number, messages: readonly Message[]): Promise<void> {
  while (outbox.full) await outbox.drained();
  await sendHandOuts(outbox, request, messages);
}

/** Sends as many of the messages from `from` on as one frame takes; returns how many. */
function sendFrame(outbox: Outbox, request: number, messages: readonly Message[], from: number): number {
  outbox.begin(replies.handedOut, request);
  let bytes = 0;
  let index = from;
  while (index < messages.length) {
    if (bytes >= limits.handOutFrameBytes) {
      outbox.endAs(replies.part);
      return index - from;
    }
    const message = messages[index]!;
    if (message instanceof DeliveredMessage) {
      bytes += writeRun(outbox, message);
      index += message.delivery.count; // all of a delivery's messages follow one another
    } else {
      bytes += writeSingle(outbox, message);
      index += 1;
    }
  }
  outbox.end();
  return index - from;
}

/** `first` and those that were handed out with it. */
function writeRun(outbox: Outbox, first: DeliveredMessage): number {
  const { reader, firstSeq, count, deliveryCount, run, start, end } = first.delivery;
  outbox.u32(reader.shard.no);
  outbox.f64(firstSeq);
  outbox.u32(count);
  outbox.u32(deliveryCount);
  outbox.text(first.hold);
  outbox.u32(end - start);
  outbox.bytes(run.buffer, start, end);
  return end - start;
}

/** A message of an unsharded queue, whose id is its number. */
function writeSingle(outbox: Outbox, message: Message): number {
  const { id, receipt, deliveryCount, enqueuedAtMs } = message;
  const content = message as NewMessage;
  outbox.u32(0);
  outbox.f64(Number(id));
  outbox.u32(1);
  outbox.u32(deliveryCount);
  outbox.text(receipt.slice(id.length + 1));
  const bytes = recordBytes(content);
  outbox.u32(bytes);
  outbox.fill(bytes, (target, start) => writeRecord(target, start, content, { enqueuedAtMs }));
  return bytes;
}

/** Appends the messages of a frame to `out`; they read payloads in chunks through `readChunk`. */
export function readHandOuts(body: BodyReader, out: Message[], readChunk: ReadChunk): void {
  const { source } = body;
  while (body.left > 0) {
    const shard = body.u32();
    const firstSeq = body.f64();
    const count = body.u32();
    const handOut = {
      readChunk,
      place: shard === 0 ? '' : `${shard}.`,
      deliveryCount: body.u32(),
      hold: body.text(),
    };
    const bytes = body.u32();
    let at = body.skip(bytes);
    const end = at + bytes;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      if (at + 4 > end) throw protocolError('A hand-out has fewer records than it says');
      const next = recordEnd(source, at);
      if (next - at < recordBytesMin || next > end)
        throw protocolError('A hand-out has a record that cannot be');
      out.push(new RemoteMessage(handOut, seq, source, at));
      at = next;
    }
    if (at !== end) throw protocolError('The records of a hand-out do not end where it says');
  }
}

interface HandOut {
  /** Asks the instance for a chunk of a payload, one for each that somebody reads. */
  readChunk: ReadChunk;
  place: string;
  deliveryCount: number;
  hold: string;
}

class RemoteMessage extends RecordMessage {
  readonly #handOut: HandOut;

  constructor(handOut: HandOut, seq: number, source: Buffer, start: number) {
    super(seq, source, start);
    this.#handOut = handOut;
  }

  protected override get place(): string {
    return this.#handOut.place;
  }

  protected override get hold(): string {
    return this.#handOut.hold;
  }

  override get deliveryCount(): number {
    return this.#handOut.deliveryCount;
  }

  protected override streamChunks(payload: ChunkedPayload): Readable {
    return streamPayload(payload, this.#handOut.readChunk);
  }
}
