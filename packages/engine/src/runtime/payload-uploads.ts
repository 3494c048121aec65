/** Streamed payloads of a session: uploaded first, as chunks that no message refers to, and staged with their messages later. */
import { QueueError } from '../api/errors.ts';
import type { NewMessage, StreamedMessage } from '../api/message.ts';
import type { ChunkedPayload, RecordContent } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import {
  contentOfStreamed,
  recordBytes,
  type SessionGuard,
  validateMessage,
} from '../model/session-calls.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { PayloadSource } from '../payloads/upload-all.ts';
import type { PayloadStreams } from '../queues/queue-engine.ts';
import type { FoundQueue } from './served-queues.ts';

/** An uploaded payload whose message is not staged yet. */
export interface UploadedPayload {
  row: QueueRow;
  /** The payload itself if it fits one chunk. */
  payload: ChunkedPayload | Buffer;
  /** Deletes the payload: no message will refer to it. */
  discard(): void;
}

/** The session itself. */
export interface UploadingSession {
  readonly guard: SessionGuard;
  readonly time: RecordedTime;
  /** Throws if the queue takes no messages. */
  findForEnqueue(queue: string): FoundQueue;
  stage(found: FoundQueue, content: RecordContent): void;
}

export class PayloadUploads {
  readonly #session: UploadingSession;

  constructor(session: UploadingSession) {
    this.#session = session;
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    const { guard } = this.#session;
    guard.assertFree();
    const found = this.#session.findForEnqueue(queue);
    const content = contentOfStreamed(message);
    validateMessage(found.row, content);
    recordBytes(content);
    return await guard.run(this.#uploadAndEnqueue(found, message, content));
  }

  async #uploadAndEnqueue(found: FoundQueue, source: PayloadSource, content: NewMessage) {
    const { time } = this.#session;
    const uploaded = await this.#uploadTo(found, source, time.isMarked ? time : undefined);
    this.enqueue(uploaded, content);
    const { payload } = uploaded;
    return { bytes: Buffer.isBuffer(payload) ? payload.length : payload.bytes };
  }

  /**
   * Uploads a payload whose message `enqueue` stages later. Until then the caller owns the payload and may discard it. Does not
   * keep the session busy; its close aborts the upload. Throws as `enqueueStream` does.
   */
  async upload(queue: string, source: PayloadSource): Promise<UploadedPayload> {
    this.#session.guard.assertOpen();
    return await this.#uploadTo(this.#session.findForEnqueue(queue), source);
  }

  async #uploadTo(found: FoundQueue, source: PayloadSource, time?: RecordedTime): Promise<UploadedPayload> {
    const { closingSignal } = this.#session.guard;
    const signal =
      source.signal === undefined ? closingSignal : AbortSignal.any([closingSignal, source.signal]);
    const { row } = found;
    const streams = streamsOf(found);
    const payload = await streams.upload(row, { ...source, signal }, time);
    const discard = () => {
      if (!Buffer.isBuffer(payload)) streams.discard(payload);
    };
    return { row, payload, discard };
  }

  /** Stages the message of an uploaded payload. If that fails, the payload is discarded. */
  enqueue({ row, payload, discard }: UploadedPayload, content: NewMessage): void {
    try {
      this.#session.guard.assertOpen();
      validateMessage(row, content);
      this.#stage(row, Buffer.isBuffer(payload) ? { ...content, payload } : { ...content, chunked: payload });
    } catch (error) {
      discard();
      throw error;
    }
  }

  /** Finds the queue again: it may have been stopped or dropped during the upload. */
  #stage({ queueId, name }: QueueRow, content: RecordContent): void {
    const found = this.#session.findForEnqueue(name);
    if (found.row.queueId !== queueId) throw new QueueError('QUEUE_DROPPED', { details: { queue: name } });
    this.#session.stage(found, content);
  }
}

/** Throws `STREAM_UNSUPPORTED`. */
export function streamsOf({ row, engine }: FoundQueue): PayloadStreams {
  if (engine.streams !== undefined) return engine.streams;
  throw new QueueError('STREAM_UNSUPPORTED', { details: { queue: row.name } });
}
