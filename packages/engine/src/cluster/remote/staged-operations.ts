/**
 * What a remote session stages, laid out as its commit carries it. Enqueues and acknowledgements stand in the order of the
 * calls; those of one kind that follow one another on one queue share a header:
 *
 *     u8 enqueue · text queue · u32 count · u32 bytes · records
 *     u8 acknowledge · text queue · u32 count · u32 bytes · receipts, each a text
 *     u8 enqueueUploaded · text queue · u32 count · u32 bytes · each: u32 upload, record without its payload
 *     u8 execute · text, empty · u32 count · u32 bytes · statements, each u32 length, JSON (`sql-json.ts`)
 */

import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { SqlStatement } from '../../core/sql-statement.ts';
import { assertTransactionSize } from '../../instance/transaction-room.ts';
import { type RecordRun, recordBytes, writeRecord } from '../../storage/message-record.ts';
import type { NewMessage } from '../../types.ts';
import { BodyReader } from './body-reader.ts';
import type { Outbox } from './outbox.ts';
import { assertReceipts, assertText, operations, protocolError, writeText } from './protocol.ts';
import { statementFromJson, statementToJson } from './sql-json.ts';

const bufferBytes = 8 * 1024;
/** A session that once had a large transaction does not keep its buffer. */
const keptBytesMax = 256 * 1024;
/** Of the header that the last operation may extend: its count and bytes. */
const countBytes = 8;

export class StagedOperations {
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #count = 0;
  #openQueue: string | undefined;
  #openKind = 0;
  /** Where count and bytes of the open header lie. */
  #openAt = 0;

  #statements = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether there are statements among them: then the commit answers with results. */
  get hasStatements(): boolean {
    return this.#statements > 0;
  }

  writeTo(outbox: Outbox): void {
    outbox.bytes(this.#buffer, 0, this.#used);
  }

  enqueue(queue: string, message: NewMessage): void {
    const room = recordBytes(message);
    assertTransactionSize(this.#count + 1, this.#used + room);
    this.#open(operations.enqueue, queue);
    this.#ensure(room);
    this.#added(writeRecord(this.#buffer, this.#used, message, { enqueuedAtMs: Date.now() }));
  }

  /** The message of a payload that was sent before, as upload `upload` of the session. */
  enqueueUploaded(queue: string, upload: number, message: NewMessage): void {
    const room = 4 + recordBytes(message);
    assertTransactionSize(this.#count + 1, this.#used + room);
    this.#open(operations.enqueueUploaded, queue);
    this.#ensure(room);
    const start = this.#buffer.writeUInt32LE(upload, this.#used);
    this.#added(writeRecord(this.#buffer, start, message, { enqueuedAtMs: Date.now() }));
  }

  acknowledge(queue: string, receipts: readonly string[]): void {
    const room = assertReceipts(receipts);
    assertTransactionSize(this.#count + receipts.length, this.#used + room);
    this.#open(operations.acknowledge, queue);
    this.#ensure(room);
    for (const receipt of receipts) this.#added(writeText(this.#buffer, this.#used, receipt));
  }

  execute(statement: SqlStatement): void {
    if (this.#statements >= limits.sqlStatementsMax) {
      throw new QueueError('SQL_TOO_LARGE', { details: { statementsMax: limits.sqlStatementsMax } });
    }
    const json = statementToJson(statement);
    const room = 4 + Buffer.byteLength(json);
    assertTransactionSize(this.#count + 1, this.#used + room);
    this.#open(operations.execute, '');
    this.#ensure(room);
    this.#buffer.writeUInt32LE(room - 4, this.#used);
    this.#added(this.#used + 4 + this.#buffer.write(json, this.#used + 4));
    this.#statements += 1;
  }

  #added(end: number): void {
    this.#buffer.writeUInt32LE(this.#buffer.readUInt32LE(this.#openAt) + 1, this.#openAt);
    this.#buffer.writeUInt32LE(end - this.#openAt - countBytes, this.#openAt + 4);
    this.#used = end;
    this.#count += 1;
  }

  #open(kind: number, queue: string): void {
    if (this.#openQueue === queue && this.#openKind === kind) return;
    assertText('queue', queue);
    this.#ensure(3 + queue.length * 3 + countBytes);
    this.#buffer[this.#used] = kind;
    this.#openAt = writeText(this.#buffer, this.#used + 1, queue);
    this.#buffer.fill(0, this.#openAt, this.#openAt + countBytes);
    this.#used = this.#openAt + countBytes;
    this.#openQueue = queue;
    this.#openKind = kind;
  }

  #ensure(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.#used + bytes)));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
  }

  clear(): void {
    this.#used = 0;
    this.#count = 0;
    this.#statements = 0;
    this.#openQueue = undefined;
    if (this.#buffer.length > keptBytesMax) this.#buffer = Buffer.allocUnsafeSlow(bufferBytes);
  }
}

/** What the server does with each operation of a commit. */
export interface OperationSink {
  /** `count` records from `start` to `end`, not looked at yet. */
  enqueue(queue: string, records: RecordRun): void;
  acknowledge(queue: string, receipts: string[]): void;
  execute(statement: SqlStatement): void;
  /** `record` starts in `source` and ends before `end`, not looked at yet; returns where it ends. */
  enqueueUploaded(upload: number, source: Buffer, start: number, end: number): number;
}

export function readOperations(body: BodyReader, sink: OperationSink): void {
  while (body.left > 0) {
    const kind = body.u8();
    const queue = body.text();
    const count = body.u32();
    const bytes = body.u32();
    if (kind === operations.enqueue) {
      const start = body.skip(bytes);
      sink.enqueue(queue, { source: body.source, start, end: start + bytes, count });
    } else if (kind === operations.acknowledge) {
      const start = body.skip(bytes);
      const receipts = readTexts(new BodyReader(body.source, start, start + bytes));
      if (receipts.length !== count) throw protocolError('An acknowledgement is not as long as it says');
      sink.acknowledge(queue, receipts);
    } else if (kind === operations.enqueueUploaded) {
      const start = body.skip(bytes);
      const uploads = new BodyReader(body.source, start, start + bytes);
      while (uploads.left > 0) {
        const upload = uploads.u32();
        uploads.at = sink.enqueueUploaded(upload, uploads.source, uploads.at, uploads.end);
      }
    } else if (kind === operations.execute) {
      const start = body.skip(bytes);
      const statements = new BodyReader(body.source, start, start + bytes);
      while (statements.left > 0) sink.execute(statementFromJson(statements.utf8(statements.u32())));
    } else throw protocolError(`There is no operation ${kind}`);
  }
}

/** All texts up to the end. */
export function readTexts(body: BodyReader): string[] {
  const texts: string[] = [];
  while (body.left > 0) texts.push(body.text());
  return texts;
}
