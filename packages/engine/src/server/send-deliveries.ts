/** Sends the messages that a dequeue took to the client (format: `wire/protocol.ts`). */

import { limits } from '../api/limits.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { RequestNumber } from '../model/ids.ts';
import { recordByteLength, writeRecord } from '../model/message-record.ts';
import { DeliveredMessage } from '../queues/dispatcher.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { replies } from '../wire/protocol.ts';

/**
 * Answers a dequeue, in several frames if the messages are large. If the client does not read fast enough, the remaining
 * frames wait for it; then a promise is returned, which resolves when all frames are written.
 */
export function sendDeliveries(
  writer: FrameWriter,
  request: RequestNumber,
  messages: readonly Message[],
  kinds: FrameKinds = ofAnswer,
): Promise<void> | undefined {
  for (let sent = 0; ; ) {
    if (writer.full) return sendWhenDrained(writer, request, messages.slice(sent), kinds);
    sent += sendFrame(writer, request, { messages, from: sent, kinds });
    if (sent === messages.length) return undefined;
  }
}

/** Kinds of the frames of one delivery: `part` for all but the last one. */
interface FrameKinds {
  part: number;
  last: number;
}

const ofAnswer: FrameKinds = { part: replies.deliveryPart, last: replies.delivered };

/** Messages that are pushed to a consumer: any number of frames may follow. */
export const ofPush: FrameKinds = { part: replies.pushed, last: replies.pushed };

async function sendWhenDrained(
  writer: FrameWriter,
  request: RequestNumber,
  messages: readonly Message[],
  kinds: FrameKinds,
): Promise<void> {
  while (writer.full) await writer.drained();
  await sendDeliveries(writer, request, messages, kinds);
}

interface FrameContent {
  messages: readonly Message[];
  from: number;
  kinds: FrameKinds;
}

/** Sends as many messages as fit one frame, starting with index `from`; returns their number. */
function sendFrame(
  writer: FrameWriter,
  request: RequestNumber,
  { messages, from, kinds }: FrameContent,
): number {
  writer.beginFrame(kinds.last, request);
  let bytes = 0;
  let index = from;
  while (index < messages.length) {
    if (bytes >= limits.deliveryFrameBytes) {
      writer.endFrameAs(kinds.part);
      return index - from;
    }
    const message = messages[index]!;
    if (message instanceof DeliveredMessage) {
      bytes += writeDelivery(writer, message);
      index += message.delivery.count; // the messages of one delivery are consecutive in `messages`
    } else {
      bytes += writeUnshardedMessage(writer, message);
      index += 1;
    }
  }
  writer.endFrame();
  return index - from;
}

/** Writes all messages of the delivery that `first` begins; returns the bytes of their records. */
function writeDelivery(writer: FrameWriter, first: DeliveredMessage): number {
  const { cursor, firstSeq, count, deliveryCount, run, start, end } = first.delivery;
  writer.u32(cursor.log.id);
  writer.f64(firstSeq);
  writer.u32(count);
  writer.u32(deliveryCount);
  writer.text(first.receipt);
  writer.u32(end - start);
  writer.sharedBytes(run.buffer, start, end);
  return end - start;
}

/** The id of a message in an unsharded queue is its sequence number. */
function writeUnshardedMessage(writer: FrameWriter, message: Message): number {
  const { id, receipt, deliveryCount, enqueuedAtMs } = message;
  const content = message as NewMessage;
  writer.u32(0);
  writer.f64(Number(id));
  writer.u32(1);
  writer.u32(deliveryCount);
  writer.text(receipt);
  const bytes = recordByteLength(content);
  writer.u32(bytes);
  writer.writeWith(bytes, (target, start) => writeRecord(target, start, content, { enqueuedAtMs }));
  return bytes;
}
