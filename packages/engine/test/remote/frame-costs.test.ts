/** A frame of megabytes that announces little, or much: nothing is built beyond what a transaction or a call can have. */
import { describe, expect, it } from 'vitest';
import type { QueueError } from '../../src/api/errors.ts';
import { limits } from '../../src/api/limits.ts';
import { answerAdminCall } from '../../src/server/admin-calls.ts';
import { type OperationHandler, readOperations, readTexts } from '../../src/server/read-operations.ts';
import { validateRecords } from '../../src/server/received-records.ts';
import { BodyReader } from '../../src/wire/body-reader.ts';
import { peerCallFromJson, readBatch } from '../../src/wire/peer-messages.ts';
import { operations } from '../../src/wire/protocol.ts';
import { statementFromJson } from '../../src/wire/sql-json.ts';
import { resourceCallFromJson } from '../../src/wire/xa-calls.ts';

/** Enough for more of everything than any limit; frames may have 32 MiB. */
const bytesMax = 2 * 1024 * 1024;

/** Bytes that count the strings that are made of them, and the items that a handler is given. */
function counted(source: Buffer) {
  const built = { texts: 0, items: 0 };
  source.toString = function (this: Buffer, ...args: Parameters<Buffer['toString']>) {
    built.texts += 1;
    return Buffer.prototype.toString.apply(this, args);
  } as Buffer['toString'];
  const item = () => {
    built.items += 1;
  };
  const handler: OperationHandler = {
    enqueue: item,
    acknowledge: (_queue, receipts) => {
      built.items += receipts.length;
    },
    execute: item,
    idempotencyKey: item,
    consumeDelivered: item,
    enqueueUploaded: (_upload, _source, start) => {
      item();
      return start;
    },
  };
  return { built, handler };
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as QueueError).code;
  }
}

/** Operation headers of a kind, each with this count and this content. */
function headers(
  kind: number,
  { count, content, times }: { count: number; content: Buffer; times: number },
): Buffer {
  const header = Buffer.alloc(11);
  header.writeUInt8(kind);
  header.writeUInt32LE(count, 3);
  header.writeUInt32LE(content.length, 7);
  return Buffer.concat(Array.from({ length: times }, () => Buffer.concat([header, content])));
}

describe('a frame', () => {
  const full = Buffer.alloc(bytesMax);
  it.each([
    ['receipts', operations.acknowledge],
    ['statements', operations.execute],
    ['uploads', operations.enqueueUploaded],
    ['consumers', operations.consumeDelivered],
  ])('with more %s than its header announces is refused at the first of them', (_what, kind) => {
    for (const count of [0, 1, 3]) {
      const source = headers(kind, { count, content: full, times: 1 });
      const { built, handler } = counted(source);
      expect(codeOf(() => readOperations(new BodyReader(source, 0, source.length), handler))).toBe(
        'PROTOCOL_INVALID',
      );
      expect(built.items).toBeLessThanOrEqual(count);
      expect(built.texts).toBeLessThanOrEqual(count + 2); // the queue's name, and a text of which it stops
    }
  });

  it.each(Object.entries(operations))(
    'that announces more than a transaction has is refused: %s',
    (_name, kind) => {
      const source = headers(kind, { count: limits.transactionOperationsMax + 1, content: full, times: 1 });
      const { built, handler } = counted(source);
      expect(codeOf(() => readOperations(new BodyReader(source, 0, source.length), handler))).toBe(
        'PROTOCOL_INVALID',
      );
      expect(built).toEqual({ texts: 1, items: 0 });
    },
  );

  it('has at most as many headers as a transaction has operations', () => {
    const times = limits.transactionOperationsMax + 10;
    const source = headers(operations.acknowledge, { count: 1, content: Buffer.alloc(2), times });
    const { built, handler } = counted(source);
    expect(codeOf(() => readOperations(new BodyReader(source, 0, source.length), handler))).toBe(
      'TX_TOO_LARGE',
    );
    expect(built.items).toBe(limits.transactionOperationsMax);
  });

  it('has at most as many receipts to release or extend', () => {
    const { built } = counted(full);
    expect(codeOf(() => readTexts(new BodyReader(full, 0, full.length)))).toBe('PROTOCOL_INVALID');
    expect(built.texts).toBe(limits.transactionOperationsMax);
  });

  it('with more records than it announces, or than a transaction has, is refused', () => {
    const records = { source: full, start: 0, end: full.length };
    expect(codeOf(() => validateRecords({ ...records, count: limits.transactionOperationsMax + 1 }))).toBe(
      'TX_TOO_LARGE',
    );
    expect(codeOf(() => validateRecords({ ...records, count: 1 }))).toMatch(/^(PROTOCOL|MESSAGE)_INVALID$/);
  });

  it('with a batch announces no more than a batch can have', () => {
    for (const at of [40, 44, 48]) {
      const source = Buffer.alloc(bytesMax);
      source.writeUInt32LE(limits.forwardBatchMessagesMax + 1, at);
      expect([at, codeOf(() => readBatch(new BodyReader(source, 0, source.length)))]).toEqual([
        at,
        'PROTOCOL_INVALID',
      ]);
    }
  });

  it.each(['[', '{', '[1,', '{"a":{},', '"\\"",'])(
    'of JSON has no more values than its call can have: %j',
    async (part) => {
      const text = part.repeat(Math.floor(bytesMax / part.length));
      const parse = JSON.parse;
      let parsed = 0;
      JSON.parse = (...args: Parameters<typeof parse>) => {
        parsed += 1;
        return parse(...args) as unknown;
      };
      try {
        for (const read of [statementFromJson, peerCallFromJson, resourceCallFromJson])
          expect(codeOf(() => read(text))).toBe('PROTOCOL_INVALID');
        await expect(answerAdminCall({} as never, text)).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
        expect(parsed).toBe(0);
      } finally {
        JSON.parse = parse;
      }
    },
  );
});
