/** Messages as sessions deliver them. */
import { Readable } from 'node:stream';
import type { Message, PayloadStream } from '@shardlab/engine';
import type { Delivery } from './deliveries.ts';
import type { StoredMessage } from './message-coding.ts';

export function toMessage({ stored, deliveryCount }: Delivery, receipt: string): Message {
  return { ...toUnheld(stored), deliveryCount, receipt };
}

export function toUnheld(stored: StoredMessage): Omit<Message, 'receipt' | 'deliveryCount'> {
  const { payload } = stored;
  return {
    ...stored,
    payloadBytes: payload.byteLength,
    streamed: false,
    payloadStream: () => Readable.from([payload]) as unknown as PayloadStream,
  };
}
