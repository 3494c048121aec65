/** Payloads streamed over a socket: few of their bytes are in memory at a time, and uncommitted uploads leave nothing. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { Instance, QueueSpec } from '../../src/index.ts';
import { PayloadStore } from '../../src/queues/payloads/payload-store.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { bytesOf, digest, putStream, stored } from '../streams/payloads.ts';
import { code, connectTo, serve } from './serving.ts';
import { makeUnreliableLink } from './unreliable-link.ts';

const MiB = 1024 * 1024;
const chunk = limits.chunkBytes;

async function setUp(spec: Partial<QueueSpec> = {}) {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'files', ...spec });
  const served = await serve(instance);
  const link = await makeUnreliableLink(served.path);
  const client = await connectTo(link.path);
  return { dir, instance, served, link, client, session: client.openSession() };
}

/** Waits for the number of stored chunks, since unused ones are deleted after the answers. */
const untilStored = (instance: Instance, dir: string, chunks: number) =>
  vi.waitFor(
    async () => {
      await instance.checkpoint();
      expect(stored(dir)).toMatchObject({ chunks });
    },
    { timeout: 20_000, interval: 20 },
  );

/** A payload source that yields `bytes` and then hangs. `came` resolves at that moment. */
function hanging(bytes: number) {
  const { promise: came, resolve } = Promise.withResolvers<void>();
  const payload = async function* () {
    yield* bytesOf(1, bytes);
    resolve();
    await new Promise(() => undefined);
  };
  return { payload: payload(), came };
}

describe('a payload streamed over a socket', () => {
  it.each([0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk])(
    'of %i bytes is read as it was written, by a remote and by an embedded session',
    async (bytes) => {
      const { instance, session } = await setUp();
      const put = session.enqueueStream('files', {
        payload: bytesOf(1, bytes),
        correlationId: 'c',
        properties: { of: 'a file' },
        bytes,
      });
      expect(await put).toEqual({ bytes });
      const { ids } = await session.commit();
      const [message] = await session.dequeue('files');
      expect(message).toMatchObject({ id: ids[0], correlationId: 'c', payloadBytes: bytes });
      expect(message).toMatchObject({ properties: { of: 'a file' }, streamed: bytes > chunk });
      expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(1, bytes)));
      await session.rollback();
      const [again] = await instance.openSession().dequeue('files', { waitMs: 10_000 });
      expect(await digest(again!.payloadStream())).toEqual(await digest(bytesOf(1, bytes)));
    },
  );

  it('of 64 MiB is written and read with only a few chunks in memory at any moment', async () => {
    const { dir, instance, session } = await setUp();
    const bytes = 64 * MiB;
    const written = vi.spyOn(PayloadStore.prototype, 'writeChunk');
    const read = vi.spyOn(PayloadStore.prototype, 'readChunk');
    onTestFinished(() => void vi.restoreAllMocks());
    let given = 0;
    let aheadMost = 0;
    const counting = async function* () {
      for await (const piece of bytesOf(1, bytes)) {
        // Bytes that the source gave and the store has not got are in the client, the socket or the server.
        aheadMost = Math.max(aheadMost, given - written.mock.calls.length * chunk);
        given += piece.length;
        yield piece;
      }
    };
    await session.enqueueStream('files', { payload: counting() });
    await session.commit();
    // One part fills at the client, two are under way, and one fills at the server.
    expect(aheadMost).toBeLessThanOrEqual(chunk * (1 + limits.uploadPartsMax + 1));
    await instance.checkpoint();
    expect(stored(dir)).toMatchObject({ chunks: bytes / chunk, uses: 1 });

    const [message] = await session.dequeue('files');
    let taken = 0;
    let readAheadMost = 0;
    const taking = async function* () {
      for await (const piece of message!.payloadStream()) {
        taken += piece.length;
        readAheadMost = Math.max(readAheadMost, read.mock.calls.length * chunk - taken);
        yield piece;
      }
    };
    expect(await digest(taking())).toEqual(await digest(bytesOf(1, bytes)));
    expect(readAheadMost).toBeLessThanOrEqual(3 * chunk); // One chunk is in the stream, one is under way, and one is requested.
    await session.commit();
    await untilStored(instance, dir, 0);
  }, 120_000);

  it('keeps its place among the other messages of its transaction, whatever their sizes', async () => {
    const { instance, session } = await setUp();
    session.enqueue('files', { payload: 'before' });
    await session.enqueueStream('files', { payload: bytesOf(1, MiB) });
    await session.enqueueStream('files', { payload: bytesOf(2, 10) });
    await session.enqueueStream('files', { payload: bytesOf(3, MiB) });
    session.enqueue('files', { payload: 'after' });
    const other = instance.openSession();
    expect(await other.dequeue('files')).toEqual([]);
    const { ids } = await session.commit();
    const messages = await other.dequeue('files', { max: 9 });
    expect(messages.map(({ id, streamed }) => [id, streamed])).toEqual(
      ids.map((id, index) => [id, index === 1 || index === 3]),
    );
    expect(await digest(messages[3]!.payloadStream())).toEqual(await digest(bytesOf(3, MiB)));
  });

  it('is found by the receipt of its message while that is held', async () => {
    const { client, session } = await setUp();
    await putStream(session, 'files', { seed: 7, bytes: MiB });
    const [received] = await session.receive('files');
    const found = await client.openSession().messageOfReceipt('files', received!.receipt);
    expect(found).toMatchObject({ id: received!.id, receipt: received!.receipt });
    expect(await digest(found.payloadStream())).toEqual(await digest(bytesOf(7, MiB)));
    await session.release('files', [received!.receipt]);
    await expect(session.messageOfReceipt('files', received!.receipt)).rejects.toThrow(code('RECEIPT_STALE'));
  });

  it('can be read by a browse before it is delivered', async () => {
    const { client, session } = await setUp();
    await putStream(session, 'files', { seed: 3, bytes: MiB });
    await putStream(session, 'files', { seed: 4, bytes: MiB, delayMs: 600_000 });
    const { messages } = await client.browse('files');
    expect(messages.map(({ streamed, state }) => [streamed, state])).toEqual([
      [true, 'ready'],
      [true, 'delayed'],
    ]);
    for (const [index, message] of messages.entries()) {
      expect(await digest(message.payloadStream())).toEqual(await digest(bytesOf(3 + index, MiB)));
    }
  });

  it('cannot be read after its message was consumed', async () => {
    const { dir, instance, session } = await setUp();
    await putStream(session, 'files', { seed: 3, bytes: 8 * MiB });
    const [message] = await session.dequeue('files');
    await session.commit();
    await untilStored(instance, dir, 0);
    await expect(digest(message!.payloadStream())).rejects.toThrow(code('PAYLOAD_GONE'));
  });

  it.each<[string, Partial<QueueSpec>]>([
    ['an unsharded queue', { kind: 'unsharded' }],
    ['a queue in memory', { durability: 'memory' }],
  ])('is refused by %s before a byte of it was taken', async (_, spec) => {
    const { session } = await setUp(spec);
    const payload = { [Symbol.asyncIterator]: vi.fn() };
    await expect(session.enqueueStream('files', { payload })).rejects.toThrow(code('STREAM_UNSUPPORTED'));
    expect(payload[Symbol.asyncIterator]).not.toHaveBeenCalled();
    session.enqueue('files', { payload: 'the transaction goes on' });
    await session.commit();
  });
});

it('a payload that is no stream is refused, and its session can upload another one', async () => {
  const { session } = await setUp();
  const noStream = { payload: 'text' as unknown as AsyncIterable<Uint8Array> };
  await expect(session.enqueueStream('files', noStream)).rejects.toThrow(code('MESSAGE_INVALID'));
  await putStream(session, 'files', { seed: 1, bytes: MiB });
  expect(await session.dequeue('files')).toHaveLength(1);
});

describe('while a payload is under way', () => {
  it('the other sessions of the connection continue', async () => {
    const { dir, instance, client, session } = await setUp();
    const { payload, came } = hanging(4 * MiB);
    const upload = session.enqueueStream('files', { payload });
    upload.catch(() => undefined);
    await came;
    const other = client.openSession();
    await putStream(other, 'files', { seed: 2, bytes: MiB });
    const [message] = await other.dequeue('files');
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(2, MiB)));
    await other.commit();
    await session.close();
    await expect(upload).rejects.toThrow(code('SESSION_CLOSED'));
    await untilStored(instance, dir, 0);
  });

  it('the other sessions continue while the disk writes no chunk, and the client then sends no more', async () => {
    const { client, session } = await setUp();
    const gate = Promise.withResolvers<void>();
    const write = PayloadStore.prototype.writeChunk;
    vi.spyOn(PayloadStore.prototype, 'writeChunk').mockImplementation(async function (
      this: PayloadStore,
      ...args
    ) {
      await gate.promise;
      return write.apply(this, args);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    let given = 0;
    const full = Promise.withResolvers<void>();
    const counting = async function* () {
      for await (const piece of bytesOf(1, 8 * MiB)) {
        given += piece.length;
        if (given >= 5 * chunk) full.resolve();
        yield piece;
      }
    };
    const upload = session.enqueueStream('files', { payload: counting() });
    await full.promise;
    const other = client.openSession();
    for (let i = 0; i < 20; i += 1) {
      other.enqueue('files', { payload: `${i}` });
      await other.commit();
    }
    // Two parts are at the server, two are under way, one fills at the client, and the source has given one more piece.
    expect(given).toBeLessThanOrEqual(chunk * (2 + limits.uploadPartsMax + 1) + 64 * 1024);
    gate.resolve();
    expect(await upload).toEqual({ bytes: 8 * MiB });
  });

  it('a reader that stops reading is sent no more than it requested', async () => {
    const { client, session } = await setUp();
    await putStream(session, 'files', { seed: 1, bytes: 16 * MiB });
    const [message] = await session.dequeue('files');
    const read = vi.spyOn(PayloadStore.prototype, 'readChunk');
    onTestFinished(() => void vi.restoreAllMocks());
    const pieces = message!.payloadStream()[Symbol.asyncIterator]();
    await pieces.next();
    for (let i = 0; i < 20; i += 1) await client.queues();
    expect(read.mock.calls.length).toBeLessThanOrEqual(4);
    await pieces.return?.();
  });
});

describe('a payload that is not committed leaves nothing', () => {
  it('when its source fails, when it is aborted, and when its length is not the announced one', async () => {
    const { dir, instance, session } = await setUp();
    session.enqueue('files', { payload: 'stays in the transaction' });
    const failing = async function* () {
      yield* bytesOf(0, 3 * MiB);
      throw new Error('broken off');
    };
    await expect(session.enqueueStream('files', { payload: failing() })).rejects.toThrow(
      code('PAYLOAD_INCOMPLETE'),
    );
    const { payload, came } = hanging(2 * MiB);
    const abort = new AbortController();
    const aborted = session.enqueueStream('files', { payload, signal: abort.signal });
    await came;
    abort.abort();
    await expect(aborted).rejects.toThrow(code('PAYLOAD_INCOMPLETE'));
    for (const bytes of [MiB, 3 * MiB]) {
      const wrong = session.enqueueStream('files', { payload: bytesOf(1, 2 * MiB), bytes });
      await expect(wrong).rejects.toThrow(code('PAYLOAD_LENGTH_WRONG'));
    }
    await untilStored(instance, dir, 0);
    expect((await session.commit()).ids).toHaveLength(1);
  });

  it('when its transaction is rolled back, its commit refused, or its session closed', async () => {
    const { dir, instance, client, session } = await setUp();
    const upload = () => session.enqueueStream('files', { payload: bytesOf(1, 2 * MiB) });
    await upload();
    await session.rollback();
    await untilStored(instance, dir, 0);
    await upload();
    session.execute('SELECT * FROM nowhere');
    await expect(session.commit()).rejects.toThrow(code('SQL_INVALID'));
    await untilStored(instance, dir, 0);
    await upload();
    await session.close();
    await untilStored(instance, dir, 0);
    expect(await client.openSession().dequeue('files')).toEqual([]);
  });

  it('when its queue was dropped or stopped meanwhile', async () => {
    const { dir, instance, session } = await setUp();
    await session.enqueueStream('files', { payload: bytesOf(1, 2 * MiB) });
    await instance.stopQueue('files', { enqueue: true });
    await expect(session.commit()).rejects.toThrow(code('ENQUEUE_STOPPED'));
    await untilStored(instance, dir, 0);
    await instance.startQueue('files');
    await session.enqueueStream('files', { payload: bytesOf(1, 2 * MiB) });
    await instance.dropQueue('files');
    await expect(session.commit()).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await untilStored(instance, dir, 0);
  });

  it('when the connection is lost in the middle, and can be uploaded again in the same transaction', async () => {
    const { dir, instance, link, session } = await setUp();
    session.enqueue('files', { payload: 'before' });
    const { payload, came } = hanging(3 * MiB);
    const upload = session.enqueueStream('files', { payload });
    await came;
    link.cut();
    await expect(upload).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    await untilStored(instance, dir, 0);
    await session.enqueueStream('files', { payload: bytesOf(2, 3 * MiB) });
    expect((await session.commit()).ids).toHaveLength(2);
    const [, message] = await session.dequeue('files', { max: 2 });
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(2, 3 * MiB)));
  });

  it('when the connection is lost before the commit, which then fails', async () => {
    const { dir, instance, link, served, session } = await setUp();
    await session.enqueueStream('files', { payload: bytesOf(1, 3 * MiB) });
    link.cut();
    await vi.waitFor(() => expect(served.connections).toBe(0), { timeout: 20_000, interval: 5 });
    await expect(session.commit()).rejects.toThrow(code('TX_NOT_COMMITTED'));
    await untilStored(instance, dir, 0);
    await putStream(session, 'files', { seed: 2, bytes: MiB });
    expect(await session.dequeue('files', { max: 9 })).toHaveLength(1);
  });
});

it('a commit with a payload whose answer was lost resolves once the client is reconnected', async () => {
  const { link, session } = await setUp();
  await session.enqueueStream('files', { payload: bytesOf(1, 3 * MiB) });
  link.loseAnswers();
  const commit = session.commit();
  await link.lost();
  link.cut();
  const { ids } = await commit;
  const [message] = await session.dequeue('files', { waitMs: 10_000 });
  expect(message!.id).toBe(ids[0]);
  expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(1, 3 * MiB)));
});

it('a payload can be read by its receipt after the connection was lost', async () => {
  const { link, session } = await setUp();
  await putStream(session, 'files', { seed: 1, bytes: 8 * MiB });
  const [message] = await session.receive('files', { holdMs: 600_000 });
  const stream = message!.payloadStream();
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  await pieces.next();
  link.cut();
  const found = await session.messageOfReceipt('files', message!.receipt).catch(() => {
    return session.messageOfReceipt('files', message!.receipt); // The first call may fail because it is the one to notice the loss.
  });
  expect(await digest(found.payloadStream())).toEqual(await digest(bytesOf(1, 8 * MiB)));
  await pieces.return?.();
});
