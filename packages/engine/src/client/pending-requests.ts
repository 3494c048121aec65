/** The requests of one connection that are not answered yet, and the decoding of their answers. */

import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import { idRunBytes, readIdRuns } from '../model/id-runs.ts';
import type { RequestNumber } from '../model/ids.ts';
import { LazyCommitResult } from '../model/session-calls.ts';
import type { ReadChunk } from '../payloads/payload-stream.ts';
import { BodyReader } from '../wire/body-reader.ts';
import { errorFromJson, protocolError, replies } from '../wire/protocol.ts';
import { resultsFromJson } from '../wire/sql-json.ts';
import { readDeliveries } from './read-deliveries.ts';

interface PendingRequest {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** The messages of a delivery in several frames that have come so far. */
  messages?: Message[];
}

/** Receives the messages that an instance pushes to a consumer, under the number of the request that opened it. */
export interface PushedMessages {
  /** Throws nothing. */
  onMessages(messages: Message[]): void;
  /** The consumer has ended at the instance, or the connection was lost. Nothing more comes. */
  onEnded(error: unknown): void;
}

export class PendingRequests {
  readonly #requests = new Map<RequestNumber, PendingRequest>();
  readonly #consumers = new Map<RequestNumber, PushedMessages>();
  readonly #readChunk: ReadChunk;

  constructor(readChunk: ReadChunk) {
    this.#readChunk = readChunk;
  }

  /** Resolves with the answer, or rejects with the error that the instance answered. */
  add<T>(request: RequestNumber): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#requests.set(request, { resolve: resolve as PendingRequest['resolve'], reject });
    });
  }

  addConsumer(request: RequestNumber, consumer: PushedMessages): void {
    this.#consumers.set(request, consumer);
  }

  removeConsumer(request: RequestNumber): void {
    this.#consumers.delete(request);
  }

  /** `fault`: for the consumers, if they are not to be opened again on another connection. */
  rejectAll(error: unknown, fault: unknown = error): void {
    const consumers = [...this.#consumers.values()];
    this.#consumers.clear();
    for (const consumer of consumers) consumer.onEnded(fault);
    for (const { reject } of this.#requests.values()) reject(error);
    this.#requests.clear();
  }

  /** Throws `PROTOCOL_INVALID`, and an error of the instance that concerns the whole connection. */
  readonly onFrame = (source: Buffer, start: number, end: number): void => {
    const kind = source[start]!;
    const request = source.readUInt32LE(start + 1);
    const body = new BodyReader(source, start + 5, end);
    if (kind === replies.committed) {
      this.#onCommitted(body);
      return;
    }
    const pending = this.#requests.get(request);
    if (pending === undefined) {
      if (this.#onConsumerFrame(kind, request, body)) return;
      if (kind === replies.failed) throw errorFromJson(body.remainingText());
      throw unknownRequest();
    }
    if (kind === replies.deliveryPart || kind === replies.delivered) {
      pending.messages ??= [];
      readDeliveries(body, pending.messages, this.#readChunk);
      if (kind === replies.deliveryPart) return;
    }
    this.#requests.delete(request);
    if (kind === replies.delivered) pending.resolve(pending.messages);
    else if (kind === replies.failed) pending.reject(errorFromJson(body.remainingText()));
    else pending.resolve(readReply(kind, body));
  };

  /** The answers to some commits. */
  #onCommitted(body: BodyReader): void {
    while (body.bytesLeft > 0) {
      const request = body.u32();
      const runsBytes = body.u32() * idRunBytes;
      const runsStart = body.skip(runsBytes);
      const pending = this.#requests.get(request);
      if (pending === undefined) throw unknownRequest();
      this.#requests.delete(request);
      pending.resolve(new LazyCommitResult(readIdRuns(body.source, runsStart, runsStart + runsBytes)));
    }
  }

  /** Returns false if the frame is for no consumer. */
  #onConsumerFrame(kind: number, request: RequestNumber, body: BodyReader): boolean {
    const consumer = this.#consumers.get(request);
    if (kind === replies.pushed) {
      const messages: Message[] = [];
      readDeliveries(body, messages, this.#readChunk);
      consumer?.onMessages(messages); // to one that was just closed they are on their way back already
      return true;
    }
    if (kind !== replies.failed || consumer === undefined) return false;
    this.#consumers.delete(request);
    consumer.onEnded(errorFromJson(body.remainingText()));
    return true;
  }
}

const unknownRequest = () => protocolError('An answer has the number of no pending request');

function readReply(kind: number, body: BodyReader): unknown {
  switch (kind) {
    case replies.committedWithSqlResults: {
      const bytes = body.u32();
      const start = body.skip(bytes);
      const idRuns = readIdRuns(body.source, start, start + bytes);
      return new LazyCommitResult(idRuns, resultsFromJson(body.remainingText()));
    }
    case replies.replayed: {
      const results = body.u8() === 1 ? 'lost' : [];
      return new LazyCommitResult(readIdRuns(body.source, body.offset, body.end), results, true);
    }
    case replies.done:
    case replies.notCommitted:
      return undefined;
    case replies.jsonResult:
      return JSON.parse(body.remainingText());
    case replies.payloadChunk:
      return body.source.subarray(body.offset, body.end);
    case replies.welcome:
      return body.u32();
    default:
      throw protocolError(`Unknown reply ${kind}`);
  }
}

/** The connection was lost before the answer came: the request may or may not have been carried out. */
export class ConnectionLost extends QueueError {
  constructor(path: string, cause?: unknown) {
    super('INSTANCE_UNREACHABLE', { details: { path }, cause });
  }
}
