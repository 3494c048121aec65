/** The remote protocol as bytes: frames, staged operations and errors are decoded as they were encoded, and invalid bytes are refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { NewMessage } from '../../src/api/message.ts';
import type { SqlValue } from '../../src/api/sql.ts';
import { StagedOperations } from '../../src/client/staged-operations.ts';
import { QueueError } from '../../src/index.ts';
import { readRecord } from '../../src/model/message-record.ts';
import type { SqlStatement } from '../../src/model/sql-statement.ts';
import { validateRecord } from '../../src/model/validate-record.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { type OperationHandler, readOperations } from '../../src/server/read-operations.ts';
import { BodyReader } from '../../src/wire/body-reader.ts';
import type { FrameWriter } from '../../src/wire/frame-writer.ts';
import { errorFromJson, errorToJson, replies } from '../../src/wire/protocol.ts';
import { framesOf, frameWriterTo, message, Pipe, turn } from './frames-fixture.ts';

const frame = fc.record({
  kind: fc.nat(255),
  request: fc.nat(0xffff_ffff),
  body: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('hex')),
});

type Operation =
  | { kind: 'enqueue'; queue: string; message: NewMessage }
  | { kind: 'enqueueUploaded'; queue: string; upload: number; message: NewMessage }
  | { kind: 'acknowledge'; queue: string; receipts: string[] }
  | { kind: 'execute'; statement: SqlStatement };

const value: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)), // JSON has no -0, and SQLite stores it as 0.
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((big) => !Number.isSafeInteger(Number(big))),
  fc.string({ unit: 'grapheme' }),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
);

const queue = fc.constantFrom('orders', 'a', 'größe');
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant('enqueue' as const), queue, message }),
  fc.record({
    kind: fc.constant('acknowledge' as const),
    queue,
    receipts: fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('enqueueUploaded' as const),
    queue,
    upload: fc.nat(0xffff_ffff),
    message: message.map((fields) => ({ ...fields, payload: '' })),
  }),
  fc.record({
    kind: fc.constant('execute' as const),
    statement: fc.record({
      sql: fc.string({ unit: 'grapheme' }),
      parameters: fc.oneof(
        fc.array(value),
        fc.dictionary(fc.string(), value, { noNullPrototype: true }).map((named) => ({ ...named, b: null })),
      ),
    }),
  }),
);

function stage(all: readonly Operation[]): StagedOperations {
  const staged = new StagedOperations(nodePorts.clock);
  for (const each of all) {
    if (each.kind === 'enqueue') staged.enqueue(each.queue, each.message);
    else if (each.kind === 'enqueueUploaded') staged.enqueueUploaded(each.queue, each.upload, each.message);
    else if (each.kind === 'execute') staged.execute(each.statement);
    else staged.acknowledge(each.queue, each.receipts);
  }
  return staged;
}

/** The operations as encoded in a commit. */
function bytesOf(staged: StagedOperations): Buffer {
  const chunks: Buffer[] = [];
  staged.writeTo({
    sharedBytes: (source: Buffer, start: number, end: number) =>
      chunks.push(Buffer.from(source.subarray(start, end))),
  } as unknown as FrameWriter);
  return Buffer.concat(chunks);
}

/** Reads the operations of a commit one by one, as the server does. */
function read(bytes: Buffer): {
  queue?: string;
  payload?: string;
  upload?: number;
  receipt?: string;
  statement?: SqlStatement;
  consumed?: unknown;
  key?: string;
}[] {
  const found: ReturnType<typeof read> = [];
  const sink: OperationHandler = {
    enqueue: (name, { source, start, end }) => {
      for (let at = start; at < end; at = validateRecord(source, at, end)) {
        validateRecord(source, at, end);
        found.push({ queue: name, payload: readRecord(source, at).payload.toString('hex') });
      }
    },
    acknowledge: (name, receipts) => {
      for (const receipt of receipts) found.push({ queue: name, receipt });
    },
    // Damaged bytes may be decoded as these operations.
    consumeDelivered: (consumed) => found.push({ consumed }),
    execute: (statement) => found.push({ statement }),
    idempotencyKey: (key) => found.push({ key }),
    enqueueUploaded: (upload, source, start, end) => {
      const next = validateRecord(source, start, end);
      found.push({ upload, payload: readRecord(source, start).payload.toString('hex') });
      return next;
    },
  };
  readOperations(new BodyReader(bytes, 0, bytes.length), sink);
  return found;
}

describe('frames', () => {
  it('are read completely and in order in whatever pieces the bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame), fc.array(fc.nat(100)), async (frames, pieces) => {
        const pipe = new Pipe();
        const outbox = frameWriterTo(pipe);
        for (const { kind, request, body } of frames) {
          const bytes = Buffer.from(body, 'hex');
          outbox.beginFrame(kind, request);
          outbox.bytes(bytes, 0, bytes.length);
          outbox.endFrame();
        }
        await turn();
        expect(framesOf(Buffer.concat(pipe.chunks), pieces)).toEqual(frames);
      }),
    );
  });

  it('are the same with fields that are written without a copy', async () => {
    const field = fc.record({
      bytes: fc.oneof(fc.integer({ max: 100, min: 0 }), fc.integer({ min: 30_000, max: 70_000 })),
      isShared: fc.boolean(),
    });
    const content = fc.record({
      kind: fc.integer({ min: 1, max: 3 }),
      isContinued: fc.boolean(),
      fields: fc.array(field, { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(content, { maxLength: 6 }), async (all) => {
        const pipe = new Pipe();
        const outbox = frameWriterTo(pipe);
        const expected: { kind: number; body: string }[] = [];
        for (const [index, { kind, isContinued, fields }] of all.entries()) {
          const buffered = outbox.bufferedBytes > 0;
          if (isContinued) outbox.continueFrame(kind);
          else outbox.beginFrame(kind, 0);
          const bodies = fields.map(({ bytes, isShared }, no) => {
            const source = Buffer.alloc(bytes, 7 * index + no);
            if (isShared) outbox.sharedBytes(source, 0, bytes);
            else outbox.bytes(source, 0, bytes);
            return source.toString('hex');
          });
          outbox.endFrame();
          if (isContinued && buffered && expected.at(-1)?.kind === kind)
            expected.at(-1)!.body += bodies.join('');
          else expected.push({ kind, body: bodies.join('') });
        }
        await turn();
        expect(framesOf(Buffer.concat(pipe.chunks)).map(({ kind, body }) => ({ kind, body }))).toEqual(
          expected,
        );
      }),
    );
  });

  it('of one turn of the event loop are sent in one write', async () => {
    const pipe = new Pipe();
    const outbox = frameWriterTo(pipe);
    for (let i = 0; i < 50; i += 1) {
      outbox.beginFrame(replies.done, i);
      outbox.endFrame();
    }
    await turn();
    expect(pipe.chunks).toHaveLength(1);
  });

  it.each([0, 4, limits.frameBytesMax + 1, 0xffff_ffff])(
    'with a length of %i bytes are refused',
    (length) => {
      const bytes = Buffer.alloc(16);
      bytes.writeUInt32LE(length);
      expect(() => framesOf(bytes)).toThrow(expect.objectContaining({ code: 'PROTOCOL_INVALID' }));
      expect(() => framesOf(bytes, [1, 1, 1])).toThrow(expect.objectContaining({ code: 'PROTOCOL_INVALID' }));
    },
  );
});

describe('staged operations', () => {
  it('are decoded in the order of the calls', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 12 }), (all) => {
        const expected = all.flatMap<ReturnType<typeof read>[number]>((each) =>
          each.kind === 'enqueue'
            ? [
                {
                  queue: each.queue,
                  payload: Buffer.from(each.message.payload as Uint8Array).toString('hex'),
                },
              ]
            : each.kind === 'execute'
              ? [{ statement: each.statement }]
              : each.kind === 'enqueueUploaded'
                ? [{ upload: each.upload, payload: '' }]
                : each.receipts.map((receipt) => ({
                    queue: each.queue,
                    receipt: Buffer.from(receipt).toString(),
                  })),
        );
        const staged = stage(all);
        expect(staged.count).toBe(expected.length);
        expect(read(bytesOf(staged))).toEqual(expected);
      }),
    );
  });

  it('that were damaged on the way are refused by a typed error or decoded as others, without any other failure', () => {
    const damage = fc.array(fc.tuple(fc.nat(4_000), fc.nat(255)), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(operation, { minLength: 1, maxLength: 6 }),
        damage,
        fc.nat(4_000),
        (all, spots, cut) => {
          const bytes = bytesOf(stage(all));
          for (const [at, value] of spots) if (bytes.length > 0) bytes[at % bytes.length] = value;
          const damaged = bytes.subarray(0, bytes.length - (cut % (bytes.length + 1)));
          try {
            read(damaged);
          } catch (error) {
            expect(error).toBeInstanceOf(QueueError);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('have the bounds of a transaction', () => {
    const staged = new StagedOperations(nodePorts.clock);
    const payload = Buffer.alloc(limits.payloadBytesMax);
    const fill = () => {
      for (let i = 0; i < 40; i += 1) staged.enqueue('q', { payload });
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'TX_TOO_LARGE' }));
    expect(() => staged.acknowledge('q', ['x'.repeat(5_000)])).toThrow(
      expect.objectContaining({ code: 'OPTIONS_INVALID' }),
    );
    expect(() => staged.acknowledge('q', new Array(50_000).fill('x'.repeat(1_000)))).toThrow(
      expect.objectContaining({ code: 'TX_TOO_LARGE' }),
    );
  });
});

describe('an error', () => {
  it('arrives with its code, message and details', () => {
    const error = new QueueError('BACKLOG_FULL', { message: 'Full', details: { most: 3 } });
    expect(errorFromJson(errorToJson(error))).toMatchObject({
      code: 'BACKLOG_FULL',
      message: 'Full',
      details: { most: 3 },
      retryable: true,
    });
  });

  it('with an unknown code is reported as a protocol error', () => {
    expect(errorFromJson('{"code":"TOASTER","message":"x","details":{}}').code).toBe('PROTOCOL_INVALID');
  });
});
