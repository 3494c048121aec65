/** Deliveries as frames: encoded by the server, decoded by the client, and held back from a client that does not read. */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { Message } from '../../src/api/message.ts';
import { readDeliveries } from '../../src/client/read-deliveries.ts';
import { QueueError } from '../../src/index.ts';
import type { Delivery } from '../../src/log/delivery.ts';
import { writeRecord } from '../../src/model/message-record.ts';
import { recordBytes } from '../../src/model/session-calls.ts';
import { messagesOf } from '../../src/queues/dispatcher.ts';
import { sendDeliveries } from '../../src/server/send-deliveries.ts';
import { BodyReader } from '../../src/wire/body-reader.ts';
import { replies } from '../../src/wire/protocol.ts';
import { framesOf, frameWriterTo, message, Pipe, turn } from './frames-fixture.ts';

const noChunks = () => Promise.reject(new Error('No payload here lies in chunks'));

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
  it('are decoded to the messages that were encoded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(single, together), { maxLength: 5 }), async (deliveries) => {
        const messages = deliveries.flat();
        const pipe = new Pipe();
        await sendDeliveries(frameWriterTo(pipe), 7, messages);
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

  it('that were damaged on the way are refused by a typed error or decoded as others, without any other failure', async () => {
    await fc.assert(
      fc.asyncProperty(
        together,
        fc.array(fc.tuple(fc.nat(4_000), fc.nat(255)), { maxLength: 4 }),
        async (messages, spots) => {
          const pipe = new Pipe();
          await sendDeliveries(frameWriterTo(pipe), 7, messages);
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

  it('that are large are split into several frames', async () => {
    const payload = Buffer.alloc(600_000, 1);
    const messages = Array.from({ length: 5 }, (_, index) => {
      return inHand({ id: `${index}`, payload, receipt: `${index}.1.1`, deliveryCount: 1, enqueuedAtMs: 0 });
    });
    const pipe = new Pipe();
    await sendDeliveries(frameWriterTo(pipe), 7, messages);
    await turn();
    const kinds = framesOf(Buffer.concat(pipe.chunks)).map((each) => each.kind);
    expect(kinds).toEqual([replies.deliveryPart, replies.deliveryPart, replies.delivered]);
  });
});

describe('answers to a peer that does not read', () => {
  it('are written one after the other, each once the peer has read the one before', async () => {
    const payload = Buffer.alloc(1_000_000, 1);
    const messages = [inHand({ id: '1', payload, receipt: '1.1', deliveryCount: 1, enqueuedAtMs: 0 })];
    const pipe = new Pipe();
    const outbox = frameWriterTo(pipe);
    pipe.writableLength = limits.outboxBytesMax + 1;
    const sent = [1, 2, 3].map((request) => sendDeliveries(outbox, request, messages));
    await turn();
    expect(pipe.chunks).toEqual([]);
    pipe.write = (chunk) => {
      pipe.chunks.push(chunk);
      pipe.writableLength = limits.outboxBytesMax + 1; // The first answer fills the socket again.
    };
    for (let written = 1; written <= 3; written += 1) {
      pipe.writableLength = 0;
      pipe.emit('drain');
      await turn();
      expect(pipe.chunks).toHaveLength(written);
    }
    await Promise.all(sent);
  });

  it('are discarded once the peer has closed the connection', async () => {
    const pipe = new Pipe();
    const outbox = frameWriterTo(pipe);
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
