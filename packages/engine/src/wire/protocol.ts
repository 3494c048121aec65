/**
 * The protocol between a client and the process that serves an instance, over a Unix-domain socket. A frame is
 *
 *     u32 length of the rest · u8 kind · u32 request · body
 *
 * with little-endian numbers; `docs/decisions/remote-protocol.md` lists the bodies and gives the reasons. Each
 * request has one answer, which carries the request's number. Answers to different sessions may come in any order. Only
 * `deliveryPart` is followed by another frame with the same number, and `openConsumer` by any number of `pushed` frames
 * and, if the consumer ends before it is closed, by `failed`.
 *
 * The messages of a delivery travel as runs of consecutive records in the engine's own format:
 *
 *     u32 log (0: an unsharded queue) · f64 first sequence number · u32 count · u32 delivery count
 *     text receipt · u32 bytes · records
 *
 * The messages that one dequeue took from one log are one run; their records are copied together, without decoding.
 * Only a message under a timed hold has a receipt, and it is a run of its own.
 *
 * A commit carries the staged operations in the order of the calls. Consecutive operations of one kind on one queue share
 * a header:
 *
 *     u8 enqueue · text queue · u32 count · u32 bytes · records
 *     u8 acknowledge · text queue · u32 count · u32 bytes · receipts, each a text
 *     u8 enqueueUploaded · text queue · u32 count · u32 bytes · for each: u32 upload, record without its payload
 *     u8 idempotencyKey · text key · u32 0 · u32 0, at most once, in front of the others
 *     u8 consumeDelivered · empty text · u32 count · u32 bytes · for each: u32 consumer, u32 messages, in front of the rest
 *     u8 execute · empty text · u32 count · u32 bytes · statements, each u32 length, JSON (`sql-json.ts`)
 *
 * `enqueueNow` carries one such operation, an enqueue, and is answered as a commit; `dequeueNow` is as a dequeue.
 *
 * Commits that are answered one after the other, as those of a group are, share a frame `committed`, whose own request number is 0:
 *
 *     for each: u32 request · u32 id runs · id runs (`model/id-runs.ts`)
 */

import { errorRegistry, QueueError, type QueueErrorCode } from '../api/errors.ts';
import { assertName, assertTexts } from '../model/call-arguments.ts';
import { type ValidReturn, validateReturn } from '../model/failed-attempts.ts';
import { assertTransactionSize } from '../model/session-calls.ts';

/** Raised with every incompatible change. Client and server must have the same version. */
export const protocolVersion = 11;

/** "SHRD", to recognise a peer that speaks another protocol. */
export const protocolMagic = 0x44524853;

/** Bytes before the body of a frame. */
export const frameHeaderBytes = 9;
/** The least value of a frame's length field: kind and request without a body. */
export const frameLengthMin = 5;

export const requests = {
  hello: 1,
  openSession: 2,
  closeSession: 3,
  dequeue: 4,
  receive: 5,
  cancelWait: 6,
  commit: 7,
  rollback: 8,
  release: 9,
  extend: 10,
  commitOutcome: 11,
  adminCall: 12,
  /** Between instances: `peer-messages.ts`. */
  peerCall: 13,
  forwardBatch: 14,
  /** Payloads in chunks: `client/remote-upload.ts`, `server/session-uploads.ts`. */
  beginUpload: 15,
  uploadPart: 16,
  finishUpload: 17,
  cancelUpload: 18,
  messageOfReceipt: 19,
  readChunk: 20,
  enqueueNow: 21,
  dequeueNow: 22,
  /** Branches of distributed transactions: `xa-calls.ts`. */
  branchCall: 23,
  resourceCall: 24,
  /** Consumers and producers: `server/session-consumers.ts`, `server/session-sends.ts`. */
  openConsumer: 25,
  consumerFlow: 26,
  pull: 27,
  cancelPull: 28,
  recoverConsumer: 29,
  closeConsumer: 30,
  send: 31,
  returnUnseen: 32,
} as const;

export const replies = {
  welcome: 65,
  done: 66,
  committed: 67,
  notCommitted: 68,
  /** A part of a delivery; more frames of it follow. */
  deliveryPart: 69,
  /** The last or only frame of a delivery. */
  delivered: 70,
  jsonResult: 71,
  failed: 72,
  committedWithSqlResults: 73,
  payloadChunk: 74,
  /** A transaction of this idempotency key was committed before. */
  replayed: 75,
  /** Messages for a consumer, under the number of the request that opened it. */
  pushed: 76,
} as const;

/** How the number of messages that a consumer is sent ahead of its calls is decided. */
export const consumerModes = {
  /** Its credit. */
  all: 0,
  /** Its credit, and how fast it takes them. */
  fair: 1,
  /** A session that prefetches for its dequeues: it pulls. */
  session: 2,
} as const;

/** Kinds of the operations in a commit. */
export const operations = {
  enqueue: 1,
  acknowledge: 2,
  execute: 3,
  enqueueUploaded: 4,
  idempotencyKey: 5,
  consumeDelivered: 6,
} as const;

export function protocolError(sentence: string): QueueError {
  return new QueueError('PROTOCOL_INVALID', { message: sentence });
}

export function errorToJson(error: unknown): string {
  const known = error instanceof QueueError ? error : callFailed(error);
  const { code, message, details } = known;
  return JSON.stringify({ code, message, details });
}

/** For an unexpected exception: the instance keeps running, and the message tells the client what happened. */
const callFailed = (error: unknown) =>
  new QueueError('INSTANCE_FAILED', {
    message: `The call failed unexpectedly: ${String(error)}`,
    cause: error,
  });

export function errorFromJson(json: string): QueueError {
  const { code, message, details } = JSON.parse(json) as {
    code: string;
    message: string;
    details: Record<string, unknown>;
  };
  if (!Object.hasOwn(errorRegistry, code)) {
    return protocolError(`The instance answered with the unknown error code ${code}: ${message}`);
  }
  return new QueueError(code as QueueErrorCode, { message, details });
}

/** How messages are returned, as a text: empty for the defaults, else JSON. */
export function returnToText(how: ValidReturn): string {
  return Object.keys(how).length === 0 ? '' : JSON.stringify(how);
}

/** Throws `PROTOCOL_INVALID`, `OPTIONS_INVALID`. */
export function returnFromText(text: string): ValidReturn {
  if (text === '') return {};
  let how: unknown;
  try {
    how = JSON.parse(text);
  } catch {
    how = undefined;
  }
  if (typeof how !== 'object' || how === null)
    throw protocolError('How messages are returned is not an object');
  return validateReturn(how);
}

/**
 * Writes a name or a receipt: u16 length, then UTF-8. `target` must have space for two bytes and three more for each
 * character. Returns the end of what was written.
 */
export function writeText(target: Buffer, start: number, text: string): number {
  const bytes = target.write(text, start + 2);
  target.writeUInt16LE(bytes, start);
  return start + 2 + bytes;
}

/** More than any name or receipt of an instance has. */
const textCharactersMax = 1_024;

/**
 * Returns the bytes that the receipts take at most. Throws `OPTIONS_INVALID` for what cannot be a receipt and
 * `TX_TOO_LARGE` for more receipts than one transaction may have.
 */
export function assertReceipts(receipts: readonly string[]): number {
  assertTexts('receipts', receipts);
  let bytes = 0;
  for (const receipt of receipts) {
    assertText('receipt', receipt);
    bytes += 2 + receipt.length * 3;
  }
  assertTransactionSize(receipts.length, bytes);
  return bytes;
}

/** Throws `OPTIONS_INVALID` for a value that cannot be a name or a receipt. */
export function assertText(option: string, text: string): void {
  assertName(option, text);
  if (text.length <= textCharactersMax && text.isWellFormed()) return;
  throw new QueueError('OPTIONS_INVALID', {
    message: `${option} must have at most ${textCharactersMax} characters, without lone surrogates`,
    details: { option },
  });
}
