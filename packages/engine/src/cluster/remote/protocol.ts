/**
 * What a client and the process that serves an instance say to each other over a Unix-domain socket. A frame is
 *
 *     u32 length of the rest · u8 kind · u32 request · body
 *
 * with little-endian numbers; `docs/decisions/0004-remote-protocol.md` lists the bodies and says why it looks like this.
 * A request has one answer of the same number, in any order among requests of different sessions. `part` alone is
 * followed by another frame of the same request.
 */

import { errorRegistry, QueueError, type QueueErrorCode } from '../../core/errors.ts';
import { assertTransactionSize } from '../../instance/transaction-room.ts';

/** Raised with every change that the other side must know of: both sides must have the same. */
export const protocolVersion = 3;

/** "SHRD": whoever sends something else took us for another kind of server. */
export const protocolMagic = 0x44524853;

/** Bytes of a frame before its body, and of those the ones that its length counts. */
export const frameHeaderBytes = 9;
export const frameLengthMin = 5;

export const requests = {
  hello: 1,
  open: 2,
  close: 3,
  dequeue: 4,
  receive: 5,
  stopWait: 6,
  commit: 7,
  rollback: 8,
  release: 9,
  extend: 10,
  outcome: 11,
  call: 12,
  /** Between instances: `cluster/interconnect/peer-messages.ts`. */
  peer: 13,
  forward: 14,
  /** Payloads in chunks, in and out: `remote-upload.ts`, `session-uploads.ts`. */
  upload: 15,
  part: 16,
  uploaded: 17,
  abandon: 18,
  lookUp: 19,
  readChunk: 20,
} as const;

export const replies = {
  welcome: 65,
  done: 66,
  committed: 67,
  notCommitted: 68,
  /** A part of a hand-out; more follows. */
  part: 69,
  handedOut: 70,
  result: 71,
  failed: 72,
  /** Committed, with what statements came to. */
  committedWithResults: 73,
  chunk: 74,
} as const;

/** What a commit does, one after the other. */
export const operations = { enqueue: 1, acknowledge: 2, execute: 3, enqueueUploaded: 4 } as const;

export function protocolError(sentence: string): QueueError {
  return new QueueError('PROTOCOL_INVALID', { sentence });
}

/** An error as it travels. */
export function errorToJson(error: unknown): string {
  const known = error instanceof QueueError ? error : new QueueError('INSTANCE_FAILED', { cause: error });
  const { code, message, details } = known;
  return JSON.stringify({ code, message, details });
}

export function errorFromJson(json: string): QueueError {
  const { code, message, details } = JSON.parse(json) as {
    code: string;
    message: string;
    details: Record<string, unknown>;
  };
  if (!Object.hasOwn(errorRegistry, code)) return protocolError(`The instance answered ${code}: ${message}`);
  return new QueueError(code as QueueErrorCode, { sentence: message, details });
}

/** A name or a receipt: u16 length, UTF-8. Room for three bytes a character must be there; returns where it ends. */
export function writeText(target: Buffer, start: number, text: string): number {
  const bytes = target.write(text, start + 2);
  target.writeUInt16LE(bytes, start);
  return start + 2 + bytes;
}

/** Longer than any name or receipt that an instance gives out. */
const textCharactersMax = 1_024;

/** Throws `OPTIONS_INVALID`, and `TX_TOO_LARGE` for more than a frame should carry; returns the bytes they may take. */
export function assertReceipts(receipts: readonly string[]): number {
  let bytes = 0;
  for (const receipt of receipts) {
    assertText('receipt', receipt);
    bytes += 2 + receipt.length * 3;
  }
  assertTransactionSize(receipts.length, bytes);
  return bytes;
}

/** Throws `OPTIONS_INVALID` for what no queue and no receipt is called. */
export function assertText(option: string, text: string): void {
  if (typeof text === 'string' && text.length <= textCharactersMax) return;
  throw new QueueError('OPTIONS_INVALID', {
    sentence: `${option} is a string of at most ${textCharactersMax} characters`,
    details: { option },
  });
}
