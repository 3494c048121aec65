/** The requests of one connection that are not answered yet, and the decoding of their answers. */
import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import { readIdRuns } from '../model/id-runs.ts';
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

export class PendingRequests {
  readonly #requests = new Map<number, PendingRequest>();
  readonly #readChunk: ReadChunk;

  constructor(readChunk: ReadChunk) {
    this.#readChunk = readChunk;
  }

  /** Resolves with the answer, or rejects with the error that the instance answered. */
  add<T>(request: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#requests.set(request, { resolve: resolve as PendingRequest['resolve'], reject });
    });
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#requests.values()) reject(error);
    this.#requests.clear();
  }

  /** Throws `PROTOCOL_INVALID`, and an error of the instance that concerns the whole connection. */
  readonly onFrame = (source: Buffer, start: number, end: number): void => {
    const kind = source[start]!;
    const request = source.readUInt32LE(start + 1);
    const body = new BodyReader(source, start + 5, end);
    const pending = this.#requests.get(request);
    if (pending === undefined) {
      if (kind === replies.failed) throw errorFromJson(body.remainingText());
      throw protocolError('An answer has the number of no pending request');
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
}

function readReply(kind: number, body: BodyReader): unknown {
  switch (kind) {
    case replies.committed:
      if (body.bytesLeft % 16 !== 0) throw protocolError('The ids of a commit end within an id run');
      return new LazyCommitResult(readIdRuns(body.source, body.offset, body.end));
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
  constructor(path: string) {
    super('INSTANCE_UNREACHABLE', { details: { path } });
  }
}
