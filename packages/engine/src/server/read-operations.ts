/** Reads the operations that a commit carries (format: `wire/protocol.ts`). */
import type { RequestNumber, UploadNumber } from '../model/ids.ts';
import type { RecordRun } from '../model/message-record.ts';
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

/** Throws `PROTOCOL_INVALID`, and what the handler throws. */
export function readOperations(body: BodyReader, handler: OperationHandler): void {
  while (body.bytesLeft > 0) {
    const kind = body.u8();
    const queue = body.text();
    const count = body.u32();
    const bytes = body.u32();
    const start = body.skip(bytes);
    const end = start + bytes;
    if (kind === operations.enqueue) {
      handler.enqueue(queue, { source: body.source, start, end, count });
    } else if (kind === operations.acknowledge) {
      const receipts = readTexts(new BodyReader(body.source, start, end));
      if (receipts.length !== count) {
        throw protocolError('The number of receipts differs from what the header says');
      }
      handler.acknowledge(queue, receipts);
    } else if (kind === operations.enqueueUploaded) {
      const uploads = new BodyReader(body.source, start, end);
      while (uploads.bytesLeft > 0) {
        const uploadNumber = uploads.u32();
        uploads.offset = handler.enqueueUploaded(uploadNumber, uploads.source, uploads.offset, uploads.end);
      }
    } else if (kind === operations.idempotencyKey) {
      handler.idempotencyKey(queue);
    } else if (kind === operations.consumeDelivered) {
      const consumed = new BodyReader(body.source, start, end);
      while (consumed.bytesLeft > 0) handler.consumeDelivered(consumed.u32(), consumed.u32());
    } else if (kind === operations.execute) {
      const statements = new BodyReader(body.source, start, end);
      while (statements.bytesLeft > 0) {
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

/** Reads texts up to the end of the body. */
export function readTexts(body: BodyReader): string[] {
  const texts: string[] = [];
  while (body.bytesLeft > 0) texts.push(body.text());
  return texts;
}
