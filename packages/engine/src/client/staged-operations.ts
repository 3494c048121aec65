/** The staged operations of a remote session, encoded in the form in which its commit carries them (`wire/protocol.ts`). */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { NewMessage } from '../api/message.ts';
import type { UploadNumber } from '../model/ids.ts';
import { writeRecord } from '../model/message-record.ts';
import type { Clock } from '../model/ports.ts';
import { assertTransactionSize, recordBytes } from '../model/session-calls.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { assertReceipts, assertText, operations, writeText } from '../wire/protocol.ts';
import { statementToJson } from '../wire/sql-json.ts';

const bufferBytes = 8 * 1024;
/** A larger buffer is released when its transaction ends. */
const keptBufferBytesMax = 256 * 1024;
/** Bytes of the two header fields that each further operation updates: count and bytes. */
const headerCountBytes = 8;

export class StagedOperations {
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  /** A frame that may not have been sent yet refers to the buffer. */
  #isShared = false;
  #usedBytes = 0;
  #count = 0;
  #openHeaderQueue: string | undefined;
  #openHeaderKind = 0;
  /** Offset of count and bytes in the open header. */
  #openHeaderOffset = 0;
  #statements = 0;
  /** Size of the last transaction's buffer: one that outgrows the first 8 KiB is likely to need as much, and is copied once then. */
  #likelyBytes = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#usedBytes;
  }

  /** Whether SQL statements are staged; then the answer to the commit has their results. */
  get hasStatements(): boolean {
    return this.#statements > 0;
  }

  writeTo(writer: FrameWriter): void {
    if (writer.sharedBytes(this.#buffer, 0, this.#usedBytes)) this.#isShared = true;
  }

  /** The instance has read what was written. */
  onAnswered(): void {
    this.#isShared = false;
  }

  enqueue(queue: string, message: NewMessage): void {
    const bytes = recordBytes(message);
    assertTransactionSize(this.#count + 1, this.#usedBytes + bytes);
    this.#openHeader(operations.enqueue, queue);
    this.#ensureCapacity(bytes);
    this.#finishOperation(
      writeRecord(this.#buffer, this.#usedBytes, message, { enqueuedAtMs: this.#clock.epochMs() }),
    );
  }

  /** Stages a message whose payload the session has uploaded before. */
  enqueueUploaded(queue: string, uploadNumber: UploadNumber, message: NewMessage): void {
    const bytes = 4 + recordBytes(message);
    assertTransactionSize(this.#count + 1, this.#usedBytes + bytes);
    this.#openHeader(operations.enqueueUploaded, queue);
    this.#ensureCapacity(bytes);
    const start = this.#buffer.writeUInt32LE(uploadNumber, this.#usedBytes);
    this.#finishOperation(writeRecord(this.#buffer, start, message, { enqueuedAtMs: this.#clock.epochMs() }));
  }

  acknowledge(queue: string, receipts: readonly string[]): void {
    const bytes = assertReceipts(receipts);
    assertTransactionSize(this.#count + receipts.length, this.#usedBytes + bytes);
    this.#openHeader(operations.acknowledge, queue);
    this.#ensureCapacity(bytes);
    for (const receipt of receipts) this.#finishOperation(writeText(this.#buffer, this.#usedBytes, receipt));
  }

  execute(statement: SqlStatement): void {
    if (this.#statements >= limits.sqlStatementsMax) {
      throw new QueueError('SQL_TOO_LARGE', { details: { statementsMax: limits.sqlStatementsMax } });
    }
    const json = statementToJson(statement);
    const bytes = 4 + Buffer.byteLength(json);
    assertTransactionSize(this.#count + 1, this.#usedBytes + bytes);
    this.#openHeader(operations.execute, '');
    this.#ensureCapacity(bytes);
    this.#buffer.writeUInt32LE(bytes - 4, this.#usedBytes);
    this.#finishOperation(this.#usedBytes + 4 + this.#buffer.write(json, this.#usedBytes + 4));
    this.#statements += 1;
  }

  #finishOperation(end: number): void {
    this.#buffer.writeUInt32LE(this.#buffer.readUInt32LE(this.#openHeaderOffset) + 1, this.#openHeaderOffset);
    this.#buffer.writeUInt32LE(end - this.#openHeaderOffset - headerCountBytes, this.#openHeaderOffset + 4);
    this.#usedBytes = end;
    this.#count += 1;
  }

  #openHeader(kind: number, queue: string): void {
    if (this.#openHeaderQueue === queue && this.#openHeaderKind === kind) return;
    if (kind !== operations.execute) assertText('queue', queue);
    this.#ensureCapacity(3 + queue.length * 3 + headerCountBytes);
    this.#buffer[this.#usedBytes] = kind;
    this.#openHeaderOffset = writeText(this.#buffer, this.#usedBytes + 1, queue);
    this.#buffer.fill(0, this.#openHeaderOffset, this.#openHeaderOffset + headerCountBytes);
    this.#usedBytes = this.#openHeaderOffset + headerCountBytes;
    this.#openHeaderQueue = queue;
    this.#openHeaderKind = kind;
  }

  #ensureCapacity(bytes: number): void {
    if (this.#usedBytes + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(
      Math.max(this.#likelyBytes, 2 ** Math.ceil(Math.log2(this.#usedBytes + bytes))),
    );
    this.#buffer.copy(grown, 0, 0, this.#usedBytes);
    this.#buffer = grown;
    this.#isShared = false;
  }

  clear(): void {
    this.#likelyBytes = this.#buffer.length;
    this.#usedBytes = 0;
    this.#count = 0;
    this.#statements = 0;
    this.#openHeaderQueue = undefined;
    if (this.#isShared || this.#buffer.length > keptBufferBytesMax)
      this.#buffer = Buffer.allocUnsafeSlow(bufferBytes);
    this.#isShared = false;
  }
}

/** Precedes the operations of a commit. */
export function writeIdempotencyKey(writer: FrameWriter, key: string): void {
  writer.u8(operations.idempotencyKey);
  writer.text(key);
  writer.u32(0);
  writer.u32(0);
}
