/** Reads the operations that a commit carries (format: `wire/protocol.ts`). */
import { limits } from '../api/limits.ts';
import type { RequestNumber, UploadNumber } from '../model/ids.ts';
import type { RecordRun } from '../model/message-record.ts';
import { assertTransactionSize } from '../model/session-calls.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import { BodyReader } from '../wire/body-reader.ts';
import { operations, protocolError } from '../wire/protocol.ts';
import { statementFromJson } from '../wire/sql-json.ts';

/** Stages the operations in the order in which they were called. The records have not been validated. */
export interface OperationHandler {
  enqueue(queue: string, records: RecordRun): void;
  acknowledge(queue: string, receipts: string[]): void;
  execute(statement: SqlStatement): void;
  idempotencyKey(key: string): void;
  /** The oldest messages of a consumer, which were delivered ahead of its calls. */
  consumeDelivered(consumer: RequestNumber, messages: number): void;
  /** The record begins at `start` and must end at or before `end`; returns its end. */
  enqueueUploaded(uploadNumber: UploadNumber, source: Buffer, start: number, end: number): number;
}

/** The most items that a header of this kind can announce. */
const countsMax: Readonly<Record<number, number>> = {
  [operations.enqueue]: limits.transactionOperationsMax,
  [operations.acknowledge]: limits.transactionOperationsMax,
  [operations.execute]: limits.transactionOperationsMax,
  [operations.enqueueUploaded]: limits.transactionOperationsMax,
  [operations.idempotencyKey]: 0,
  [operations.consumeDelivered]: limits.consumersPerSessionMax,
};

/**
 * Stops at the first item beyond what a header announces, and at the first header beyond what a transaction can have, so that a frame
 * builds no more than that. Throws `PROTOCOL_INVALID`, `TX_TOO_LARGE`, and what the handler throws.
 */
export function readOperations(body: BodyReader, handler: OperationHandler): void {
  let headers = 0;
  while (body.bytesLeft > 0) {
    headers += 1;
    assertTransactionSize(headers, 0);
    const kind = body.u8();
    const queue = body.text();
    const count = body.u32();
    if (count > (countsMax[kind] ?? 0)) throw protocolError(`Operation ${kind} announces ${count} items`);
    const bytes = body.u32();
    const start = body.skip(bytes);
    const end = start + bytes;
    if (kind === operations.enqueue) {
      handler.enqueue(queue, { source: body.source, start, end, count });
    } else if (kind === operations.acknowledge) {
      const receipts = readTexts(new BodyReader(body.source, start, end), count);
      if (receipts.length !== count) throw countDiffers();
      handler.acknowledge(queue, receipts);
    } else if (kind === operations.enqueueUploaded) {
      const uploads = new BodyReader(body.source, start, end);
      for (const _ of itemsOf(uploads, count)) {
        const uploadNumber = uploads.u32();
        uploads.offset = handler.enqueueUploaded(uploadNumber, uploads.source, uploads.offset, uploads.end);
      }
    } else if (kind === operations.idempotencyKey) {
      handler.idempotencyKey(queue);
    } else if (kind === operations.consumeDelivered) {
      const consumed = new BodyReader(body.source, start, end);
      for (const _ of itemsOf(consumed, count)) handler.consumeDelivered(consumed.u32(), consumed.u32());
    } else if (kind === operations.execute) {
      const statements = new BodyReader(body.source, start, end);
      for (const _ of itemsOf(statements, count)) {
        handler.execute(statementFromJson(statements.utf8(statements.u32())));
      }
    } else throw protocolError(`Unknown operation ${kind}`);
  }
}

/** Reads the only operation of an `enqueueNow`. Its records have not been validated. Throws `PROTOCOL_INVALID`. */
export function readEnqueue(body: BodyReader): { queue: string; records: RecordRun } {
  if (body.u8() !== operations.enqueue) throw protocolError('An enqueueNow has another operation');
  const queue = body.text();
  const count = body.u32();
  const bytes = body.u32();
  const start = body.skip(bytes);
  body.assertEnd();
  return { queue, records: { source: body.source, start, end: start + bytes, count } };
}

/** Reads texts up to the end of the body: at most `max`, by default as many receipts as a transaction can have. */
export function readTexts(body: BodyReader, max: number = limits.transactionOperationsMax): string[] {
  const texts: string[] = [];
  while (body.bytesLeft > 0) {
    if (texts.length >= max) throw countDiffers();
    texts.push(body.text());
  }
  return texts;
}

/** A turn for each item up to the end of the body, which must have `count`. */
function* itemsOf(body: BodyReader, count: number): Generator<void> {
  for (let read = 0; read < count; read += 1) yield;
  if (body.bytesLeft > 0) throw countDiffers();
}

const countDiffers = () => protocolError('The number of items differs from what their header says');
