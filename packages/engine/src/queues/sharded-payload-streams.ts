/** Streamed payloads of sharded queues: their upload, and the messages that have them. */
import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import type { ChunkedPayload } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import { type PayloadSource, uploadAll } from '../payloads/upload-all.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { PayloadUpload } from './payloads/payload-upload.ts';
import type { PayloadStreams } from './queue-engine.ts';

export class ShardedPayloadStreams implements PayloadStreams {
  readonly #store: PayloadStore;
  readonly #dispatcher: Dispatcher;

  constructor(store: PayloadStore, dispatcher: Dispatcher) {
    this.#store = store;
    this.#dispatcher = dispatcher;
  }

  async upload(row: QueueRow, source: PayloadSource, time?: RecordedTime): Promise<ChunkedPayload | Buffer> {
    if (row.durability === 'memory')
      throw new QueueError('STREAM_UNSUPPORTED', { details: { queue: row.name } });
    return await uploadAll(new PayloadUpload(this.#store, time), source);
  }

  discard(payload: ChunkedPayload): void {
    this.#store.discardPayload(payload);
  }

  messageOfReceipt(row: QueueRow, receipt: string): Message {
    return this.#dispatcher.messageOfReceipt(row, receipt);
  }
}
