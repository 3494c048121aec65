/** A message of the unsharded file as it was delivered. */
import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import { type ChunkedPayload, RecordMessage } from '../model/message-record.ts';
import { streamPayload } from '../payloads/payload-stream.ts';
import type { ClaimedRow } from '../storage/unsharded/unsharded-file.ts';

export class UnshardedMessage extends RecordMessage {
  readonly deliveryCount: number;
  /** Set once it is under a timed hold. */
  receipt = '';

  constructor({ id, deliveryCount, record }: ClaimedRow) {
    super(id, record, 0);
    this.deliveryCount = deliveryCount;
  }

  protected override get idPrefix(): string {
    return '';
  }

  protected override streamPayload(payload: ChunkedPayload | Buffer): ReturnType<Message['payloadStream']> {
    return streamPayload(payload, throwStreamUnsupported);
  }
}

/** Only sharded queues take streamed payloads. */
export function throwStreamUnsupported(): never {
  throw new QueueError('STREAM_UNSUPPORTED');
}
