/** The remote protocol as bytes: frames, staged operations and deliveries come back as they went, and nonsense is refused. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { Message, NewMessage } from '../../src/api/message.ts';
import type { SqlValue } from '../../src/api/sql.ts';
import { readDeliveries } from '../../src/client/read-deliveries.ts';
import { StagedOperations } from '../../src/client/staged-operations.ts';
import { QueueError } from '../../src/index.ts';
import type { Delivery } from '../../src/log/delivery.ts';
import { readRecord, writeRecord } from '../../src/model/message-record.ts';
import { recordBytes } from '../../src/model/session-calls.ts';
import type { SqlStatement } from '../../src/model/sql-statement.ts';
import { validateRecord } from '../../src/model/validate-record.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { messagesOf } from '../../src/queues/dispatcher.ts';
import { type OperationHandler, readOperations } from '../../src/server/read-operations.ts';
import { sendDeliveries } from '../../src/server/send-deliveries.ts';
import { BodyReader } from '../../src/wire/body-reader.ts';
import { FrameReader } from '../../src/wire/frame-reader.ts';
import { FrameWriter } from '../../src/wire/frame-writer.ts';
import { errorFromJson, errorToJson, replies } from '../../src/wire/protocol.ts';

/** What is written to it, and nothing else of a socket. */
class Pipe extends EventEmitter {
  readonly chunks: Buffer[] = [];
  writableLength = 0;
  destroyed = false;

  write(chunk: Buffer, done: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    done();
  }
}

const noChunks = () => Promise.reject(new Error('No payload here lies in chunks'));
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Frame {
  kind: number;
  request: number;
  body: string;
}

/** Cuts `bytes` into frames, fed in pieces of the given lengths. */
function framesOf(bytes: Buffer, pieces: readonly number[] = []): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((source, start, end) => {
    const body = source.toString('hex', start + 5, end);
    frames.push({ kind: source[start]!, request: source.readUInt32LE(start + 1), body });
  });
  let at = 0;
  for (const piece of pieces) {
    reader.push(bytes.subarray(at, Math.min(at + piece, bytes.length)));
    at = Math.min(at + piece, bytes.length);
  }
  reader.push(bytes.subarray(at));
  return frames;
}

const frame = fc.record({
  kind: fc.nat(255),
  request: fc.nat(0xffff_ffff),
  body: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('hex')),
});

const message: fc.Arbitrary<NewMessage> = fc.record(
  {
    payload: fc.uint8Array({ maxLength: 300 }),
    correlationId: fc.string({ unit: 'binary', maxLength: 40 }),
    groupKey: fc.string({ maxLength: 40 }),
    properties: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
    priority: fc.integer({ min: 1, max: 9 }),
    delayMs: fc.integer({ min: 1, max: 1_000_000 }),
    recipients: fc.array(
      fc.string({ minLength: 1, maxLength: 10 }).filter((name) => !/^\.{1,2}$|\0/.test(name)),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  },
  { requiredKeys: ['payload'] },
);

type Operation =
  | { kind: 'enqueue'; queue: string; message: NewMessage }
  | { kind: 'enqueueUploaded'; queue: string; upload: number; message: NewMessage }
  | { kind: 'acknowledge'; queue: string; receipts: string[] }
  | { kind: 'execute'; statement: SqlStatement };

const value: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)), // JSON has none, and SQLite's is 0
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
    receipts: fc.array(fc.string(), { maxLength: 4 }),
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

/** As they lie in a commit. */
function bytesOf(staged: StagedOperations): Buffer {
  const chunks: Buffer[] = [];
  staged.writeTo({
    bytes: (source: Buffer, start: number, end: number) =>
      chunks.push(Buffer.from(source.subarray(start, end))),
  } as unknown as FrameWriter);
  return Buffer.concat(chunks);
}

/** Reads a commit's operations one by one, as the server does. */
function read(
  bytes: Buffer,
): { queue?: string; payload?: string; upload?: number; receipt?: string; statement?: SqlStatement }[] {
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
    execute: (statement) => found.push({ statement }),
    idempotencyKey: () => {
      throw new Error('no key was staged');
    },
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
  it('come out whole and in order however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame), fc.array(fc.nat(100)), async (frames, pieces) => {
        const pipe = new Pipe();
        const outbox = new FrameWriter(pipe as unknown as Socket, nodePorts.timers);
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

  it('of one turn of the event loop leave in one write, and so does what comes while they are written', async () => {
    const pipe = new Pipe();
    const outbox = new FrameWriter(pipe as unknown as Socket, nodePorts.timers);
    for (let i = 0; i < 50; i += 1) {
      outbox.beginFrame(replies.done, i);
      outbox.endFrame();
    }
    await turn();
    expect(pipe.chunks).toHaveLength(1);
  });

  it.each([0, 4, limits.frameBytesMax + 1, 0xffff_ffff])('of a length of %i bytes are refused', (length) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32LE(length);
    expect(() => framesOf(bytes)).toThrow(expect.objectContaining({ code: 'PROTOCOL_INVALID' }));
    expect(() => framesOf(bytes, [1, 1, 1])).toThrow(expect.objectContaining({ code: 'PROTOCOL_INVALID' }));
  });
});

describe('staged operations', () => {
  it('come back in the order of the calls', () => {
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

  it('that were damaged on the way are refused by a typed error or read as others, never worse', () => {
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

  it('are bounded as a transaction is', () => {
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

function inHand(content: Omit<Message, 'payloadBytes' | 'streamed' | 'payloadStream'>): Message {
  const { payload } = content;
  return {
    ...content,
    payloadBytes: payload.length,
    streamed: false,
    payloadStream: () => Readable.from([payload]),
  };
}

/** Messages as an unsharded queue delivers them, one by one. */
const single: fc.Arbitrary<Message[]> = fc
  .record({
    message: message.map(({ priority: _, delayMs: __, ...rest }) => rest),
    id: fc.maxSafeNat().map(String),
    hold: fc.tuple(fc.nat(), fc.nat()).map((parts) => parts.join('.')),
    deliveryCount: fc.integer({ min: 1, max: 1_000 }),
    enqueuedAtMs: fc.nat(),
  })
  .map(({ message: { payload, ...rest }, id, hold, ...more }) => {
    return [inHand({ ...rest, ...more, id, payload: Buffer.from(payload), receipt: `${id}.${hold}` })];
  });

/** Messages as a log delivers them: consecutive records. */
const together: fc.Arbitrary<Message[]> = fc
  .record({
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
    shard: fc.integer({ min: 100, max: 6_400 }),
    firstSeq: fc.nat(),
    deliveryCount: fc.integer({ min: 1, max: 1_000 }),
    holdNumber: fc.nat(),
  })
  .map(({ messages, shard, ...rest }) => {
    const buffer = Buffer.alloc(messages.reduce((sum, each) => sum + recordBytes(each), 3));
    let end = 3;
    for (const each of messages) end = writeRecord(buffer, end, each, { enqueuedAtMs: 5 });
    const cursor = { log: { id: shard } } as Delivery['cursor'];
    const run = {
      buffer,
      firstSeq: rest.firstSeq,
      count: messages.length,
      start: 3,
      end,
      fromDisk: false,
      retainCount: 0,
    };
    const out: Message[] = [];
    const delivery = {
      ...rest,
      cursor,
      run,
      count: messages.length,
      start: 3,
      end,
      state: 'held' as const,
    };
    messagesOf(delivery, { payloads: undefined as never }, out);
    return out;
  });

describe('deliveries', () => {
  it('come back as the messages they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(single, together), { maxLength: 5 }), async (deliveries) => {
        const messages = deliveries.flat();
        const pipe = new Pipe();
        await sendDeliveries(new FrameWriter(pipe as unknown as Socket, nodePorts.timers), 7, messages);
        await turn();
        const [only] = framesOf(Buffer.concat(pipe.chunks));
        const body = Buffer.from(only!.body, 'hex');
        const out: Message[] = [];
        readDeliveries(new BodyReader(body, 0, body.length), out, noChunks);
        expect(out.map((each) => JSON.parse(JSON.stringify(each)))).toEqual(
          messages.map((each) => JSON.parse(JSON.stringify(each))),
        );
      }),
    );
  });

  it('that were damaged on the way are refused by a typed error or read as others, never worse', async () => {
    await fc.assert(
      fc.asyncProperty(
        together,
        fc.array(fc.tuple(fc.nat(4_000), fc.nat(255)), { maxLength: 4 }),
        async (messages, spots) => {
          const pipe = new Pipe();
          await sendDeliveries(new FrameWriter(pipe as unknown as Socket, nodePorts.timers), 7, messages);
          await turn();
          const body = Buffer.concat(pipe.chunks).subarray(9);
          for (const [at, value] of spots) body[at % body.length] = value;
          try {
            readDeliveries(new BodyReader(body, 0, body.length), [], noChunks);
          } catch (error) {
            expect(error).toBeInstanceOf(QueueError);
          }
        },
      ),
    );
  });

  it('that are large come in several frames', async () => {
    const payload = Buffer.alloc(600_000, 1);
    const messages = Array.from({ length: 5 }, (_, index) => {
      return inHand({ id: `${index}`, payload, receipt: `${index}.1.1`, deliveryCount: 1, enqueuedAtMs: 0 });
    });
    const pipe = new Pipe();
    await sendDeliveries(new FrameWriter(pipe as unknown as Socket, nodePorts.timers), 7, messages);
    await turn();
    const kinds = framesOf(Buffer.concat(pipe.chunks)).map((each) => each.kind);
    expect(kinds).toEqual([replies.deliveryPart, replies.deliveryPart, replies.delivered]);
  });
});

describe('answers to a peer that does not read', () => {
  it('wait until it has read what it was sent, one after the other', async () => {
    const payload = Buffer.alloc(1_000_000, 1);
    const messages = [inHand({ id: '1', payload, receipt: '1.1', deliveryCount: 1, enqueuedAtMs: 0 })];
    const pipe = new Pipe();
    const outbox = new FrameWriter(pipe as unknown as Socket, nodePorts.timers);
    pipe.writableLength = limits.outboxBytesMax + 1;
    const sent = [1, 2, 3].map((request) => sendDeliveries(outbox, request, messages));
    await turn();
    expect(pipe.chunks).toEqual([]);
    pipe.write = (chunk) => {
      pipe.chunks.push(chunk);
      pipe.writableLength = limits.outboxBytesMax + 1; // full again with the first of them
    };
    for (let written = 1; written <= 3; written += 1) {
      pipe.writableLength = 0;
      pipe.emit('drain');
      await turn();
      expect(pipe.chunks).toHaveLength(written);
    }
    await Promise.all(sent);
  });

  it('go nowhere once it is gone', async () => {
    const pipe = new Pipe();
    const outbox = new FrameWriter(pipe as unknown as Socket, nodePorts.timers);
    pipe.writableLength = limits.outboxBytesMax + 1;
    const drained = outbox.drained();
    pipe.destroyed = true;
    pipe.emit('close');
    await drained;
    outbox.beginFrame(replies.done, 1);
    outbox.endFrame();
    await turn();
    expect(pipe.chunks).toEqual([]);
  });
});

describe('an error', () => {
  it('arrives with its code, sentence and details', () => {
    const error = new QueueError('BACKLOG_FULL', { message: 'Full', details: { most: 3 } });
    expect(errorFromJson(errorToJson(error))).toMatchObject({
      code: 'BACKLOG_FULL',
      message: 'Full',
      details: { most: 3 },
      retryable: true,
    });
  });

  it('of a code that this side does not know is one of the protocol', () => {
    expect(errorFromJson('{"code":"TOASTER","message":"x","details":{}}').code).toBe('PROTOCOL_INVALID');
  });
});
