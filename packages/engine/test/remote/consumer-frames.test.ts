/** Invalid frames about consumers and producers are answered with an error, and end the connection. */
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Instance } from '../../src/index.ts';
import { protocolMagic, protocolVersion, requests } from '../../src/wire/protocol.ts';
import { openTestInstance } from '../folder.ts';
import { drain, serve } from './serving.ts';

const consumer = 2;

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}

function frame(kind: number, request: number, ...body: Buffer[]): Buffer {
  const bytes = Buffer.concat([u32(0), Buffer.from([kind]), u32(request), ...body]);
  bytes.writeUInt32LE(bytes.length - 4);
  return bytes;
}

const text = (value: string) => Buffer.concat([Buffer.from([value.length, 0]), Buffer.from(value)]);

/** Frames that open session 1 with a consumer of `q` and a pipeline of 10 messages. */
const openingOf = (messagesMaximum: number) =>
  frame(requests.openConsumer, consumer, u32(1, messagesMaximum), Buffer.from([0]), u32(30_000), text('q'));
const greetingOf = (sessionId: number) => [
  frame(requests.hello, 0, u32(protocolMagic), Buffer.from([protocolVersion, 0])),
  frame(requests.openSession, 0, u32(1, 1), Buffer.alloc(16, sessionId)),
];
const greeting = greetingOf(1);
const opened = [...greeting, openingOf(10)];

/** Sends the frames; resolves with the answers of the instance until it ends the connection. */
async function answersTo(path: string, frames: readonly Buffer[]): Promise<string> {
  const socket = connectSocket(path);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(Buffer.concat(frames));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

async function fill(instance: Instance): Promise<void> {
  const session = instance.openSession();
  for (const payload of ['a', 'b', 'c']) session.enqueue('q', { payload });
  await session.commit();
}

const flow = (...fields: number[]) => frame(requests.consumerFlow, 0, u32(1, consumer, ...fields));

it.each<[string, Buffer[]]>([
  ['a pipeline of no messages', [...greeting, openingOf(0)]],
  ['a pipeline of too many messages', [...greeting, openingOf(10_001)]],
  ['a consumer opened twice', [...opened, openingOf(10)]],
  ['a consumer that is not open', [...greeting, flow(0, 1)]],
  ['more credit than the pipeline has', [...opened, flow(0, 11)]],
  ['both wrong in one flow', [...opened, flow(7, 11)]],
  ['credit given twice', [...opened, flow(0, 10), flow(0, 10)]],
  ['messages acknowledged that were not sent', [...opened, flow(1, 0)]],
  ['more messages acknowledged than were sent', [...opened, flow(0, 3), flow(4, 0)]],
  ['a pull beside a pipeline', [...opened, flow(0, 10), frame(requests.pull, 5, u32(1, consumer, 0, 1, 0))]],
  ['a pull of no messages', [...opened, frame(requests.pull, 5, u32(1, consumer, 0, 0, 0))]],
  [
    'two pulls at once',
    [...opened, ...[5, 6].map((n) => frame(requests.pull, n, u32(1, consumer, 9, 4, 99_999)))],
  ],
  ['a flow cut short', [...opened, frame(requests.consumerFlow, 0, u32(1, consumer, 0))]],
  ['a flow with more at its end', [...opened, flow(0, 1, 7)]],
  ['a recovery cut short', [...opened, frame(requests.recoverConsumer, 5, u32(1, consumer))]],
  [
    'a send that is no enqueue',
    [...greeting, frame(requests.send, 0, u32(1, 1, 0), Buffer.from([9]), text('q'), u32(0, 0))],
  ],
  [
    'a send without a record',
    [...greeting, frame(requests.send, 0, u32(1, 1, 0), Buffer.from([1]), text('q'), u32(1, 0))],
  ],
  [
    'a commit of messages that were not sent',
    [
      ...opened,
      frame(
        requests.commit,
        5,
        u32(1),
        Buffer.from(new Float64Array([1]).buffer),
        Buffer.concat([Buffer.from([6]), text(''), u32(1, 8), u32(consumer, 1)]),
      ),
    ],
  ],
])('%s ends the connection with the reason, and every message is ready again', async (_, frames) => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  await fill(instance);
  const { path } = await serve(instance);
  expect(await answersTo(path, frames)).toContain('PROTOCOL_INVALID');
  await expect.poll(() => instance.queue('q').held).toBe(0);
  expect(await drain(instance)).toEqual(['a', 'b', 'c']);
});

it('the instance continues after frames about consumers with any content', { timeout: 60_000 }, async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  await fill(instance);
  const { path } = await serve(instance);
  const small = fc.constantFrom(0, 1, 2, 3, 10, 0xffff_ffff);
  const nonsense = fc.record({
    kind: fc.integer({ min: requests.openConsumer, max: requests.send }),
    request: fc.integer({ min: 0, max: 4 }),
    fields: fc.array(small, { maxLength: 5 }),
    rest: fc.uint8Array({ maxLength: 6 }),
  });
  let sessions = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(nonsense, { minLength: 1, maxLength: 6 }), async (all) => {
      const frames = all.map(({ kind, request, fields, rest }) =>
        frame(kind, request, u32(1, consumer, ...fields), Buffer.from(rest)),
      );
      sessions += 1; // A session id that belongs to another connection is refused.
      await answersTo(path, [...greetingOf(sessions), openingOf(10), ...frames, frame(99, 9, u32(1))]);
    }),
    { numRuns: 100 },
  );
  await expect.poll(() => instance.queue('q').held).toBe(0);
  const { ready, consumed } = instance.queue('q');
  expect(ready + consumed).toBe(3);
  await fill(instance);
  expect((await drain(instance)).slice(-3)).toEqual(['a', 'b', 'c']);
});
