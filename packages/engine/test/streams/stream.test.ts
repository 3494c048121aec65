/** Streamed payloads, stored in chunks: written, read, and deleted with the last message that uses them. */
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { type Instance, openInstance, type QueueSpec } from '../../src/index.ts';
import { uploadAll } from '../../src/payloads/upload-all.ts';
import type { PayloadStore } from '../../src/queues/payloads/payload-store.ts';
import { PayloadUpload } from '../../src/queues/payloads/payload-upload.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { waiting } from '../waiting.ts';
import { bytesOf, digest, putStream, stored } from './payloads.ts';

const MiB = 1024 * 1024;
const chunk = 256 * 1024;
const code = (value: string) => expect.objectContaining({ code: value });

async function withQueue(spec: Partial<QueueSpec> = {}): Promise<{ instance: Instance; dir: string }> {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'files', ...spec });
  return { instance, dir };
}

/** What the file has of everything that is committed. */
async function storedBy(instance: Instance, dir: string) {
  await instance.checkpoint();
  return stored(dir);
}

/** Waits for the number of chunks, since unused ones are deleted after the commits. */
const untilStored = (instance: Instance, dir: string, chunks: number) =>
  vi.waitFor(async () => expect(await storedBy(instance, dir)).toMatchObject({ chunks }), {
    timeout: 20_000,
    interval: 20,
  });

describe('a streamed payload', () => {
  it.each([0, 1, chunk - 1, chunk, chunk + 1, 3 * MiB, 5 * chunk])(
    'of %i bytes is read as it was written, after a restart too',
    async (bytes) => {
      const { instance, dir } = await withQueue();
      const session = instance.openSession();
      expect(
        await session.enqueueStream('files', { payload: bytesOf(1, bytes), correlationId: 'c' }),
      ).toEqual({
        bytes,
      });
      await session.commit();
      await instance.close();
      const again = await openTestInstance({ dir });
      const [message] = await again.openSession().dequeue('files', { waitMs: 10_000 });
      expect(message).toMatchObject({ correlationId: 'c', payloadBytes: bytes, streamed: bytes > chunk });
      expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(1, bytes)));
    },
  );

  it('cannot be read as a whole: its message has its length, and is marked as streamed', async () => {
    const { instance } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 1, bytes: MiB });
    const [message] = await session.dequeue('files');
    expect(() => message!.payload).toThrow(code('PAYLOAD_STREAMED'));
    expect(JSON.parse(JSON.stringify(message))).toMatchObject({ payloadBytes: MiB, streamed: true });
  });

  it('takes hardly any space in the message cache', async () => {
    const { instance } = await withQueue();
    await putStream(instance.openSession(), 'files', { seed: 1, bytes: 2 * MiB });
    expect(instance.stats().shards[0]!.cacheBytes).toBeLessThan(100);
  });

  it('is invisible before the commit, in a transaction that may have other messages', async () => {
    const { instance } = await withQueue();
    const [session, other] = [instance.openSession(), instance.openSession()];
    session.enqueue('files', { payload: 'before' });
    await session.enqueueStream('files', { payload: bytesOf(1, MiB) });
    await session.enqueueStream('files', { payload: bytesOf(2, MiB) });
    session.enqueue('files', { payload: 'after' });
    expect(await other.dequeue('files')).toEqual([]);
    const { ids } = await session.commit();
    const messages = await other.dequeue('files', { max: 9 });
    expect(messages.map(({ id, streamed }) => [id, streamed])).toEqual(
      ids.map((id, index) => [id, index === 1 || index === 2]),
    );
    expect(await digest(messages[2]!.payloadStream())).toEqual(await digest(bytesOf(2, MiB)));
  });

  it('is deleted once its message is consumed, and its space is reused', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    const round = async () => {
      await putStream(session, 'files', { seed: 1, bytes: 8 * MiB });
      await session.dequeue('files');
      await session.commit();
      await untilStored(instance, dir, 0);
      return stored(dir).pages;
    };
    const pages = await round();
    for (let i = 0; i < 3; i += 1) expect(await round()).toBeLessThan(pages * 1.2);
  });

  it('is kept while its message is returned and held again', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 7, bytes: MiB });
    await session.dequeue('files');
    await session.rollback();
    const [received] = await session.receive('files', { holdMs: 60_000 });
    expect(await digest(received!.payloadStream())).toEqual(await digest(bytesOf(7, MiB)));
    await session.release('files', [received!.receipt]);
    expect(await storedBy(instance, dir)).toMatchObject({ payloads: 1, uses: 1 });
  });

  it('is found by the receipt of its message while that is held', async () => {
    const { instance } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 7, bytes: MiB });
    const [received] = await session.receive('files');
    const found = await instance.openSession().messageOfReceipt('files', received!.receipt);
    expect(found.id).toBe(received!.id);
    expect(await digest(found.payloadStream())).toEqual(await digest(bytesOf(7, MiB)));
    await session.release('files', [received!.receipt]);
    await expect(session.messageOfReceipt('files', received!.receipt)).rejects.toThrow(code('RECEIPT_STALE'));
  });

  it('can be read by a browse', async () => {
    const { instance } = await withQueue();
    await putStream(instance.openSession(), 'files', { seed: 3, bytes: MiB });
    const { messages } = await instance.browse('files');
    expect(messages[0]).toMatchObject({ payloadBytes: MiB, streamed: true, state: 'ready' });
    expect(await digest(messages[0]!.payloadStream())).toEqual(await digest(bytesOf(3, MiB)));
  });

  it('cannot be read after its message was consumed', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 3, bytes: 8 * MiB });
    const [message] = await session.dequeue('files');
    await session.commit();
    await untilStored(instance, dir, 0);
    await expect(digest(message!.payloadStream())).rejects.toThrow(code('PAYLOAD_GONE'));
  });
});

describe('an upload', () => {
  it('that is rolled back leaves nothing', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    await session.enqueueStream('files', { payload: bytesOf(1, MiB) });
    expect((await storedBy(instance, dir)).chunks).toBe(4);
    await session.rollback();
    await untilStored(instance, dir, 0);
    expect(instance.queue('files')).toMatchObject({ ready: 0, enqueued: 0 });
  });

  it('leaves nothing if a statement of its transaction fails, and is committed with a statement that succeeds', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    session.execute('CREATE TABLE item (no INTEGER PRIMARY KEY)');
    session.execute('INSERT INTO item VALUES (1)');
    await session.enqueueStream('files', { payload: bytesOf(1, MiB) });
    await session.commit();
    session.execute('INSERT INTO item VALUES (1)');
    await session.enqueueStream('files', { payload: bytesOf(2, MiB) });
    await expect(session.commit()).rejects.toThrow(code('SQL_FAILED'));
    await untilStored(instance, dir, 4);
    expect(stored(dir).uses).toBe(1);
    const [message] = await session.dequeue('files');
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(1, MiB)));
  });

  it('whose source fails leaves nothing, and does not change the transaction', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    session.enqueue('files', { payload: 'stays' });
    const failing = async function* () {
      yield* bytesOf(1, MiB);
      throw new Error('the line is dead');
    };
    const failed = await session
      .enqueueStream('files', { payload: failing() })
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'PAYLOAD_INCOMPLETE', cause: { message: 'the line is dead' } });
    await untilStored(instance, dir, 0);
    expect((await session.commit()).ids).toHaveLength(1);
  });

  it.each([MiB - 1, MiB + 1])(
    'of another length than the announced %i bytes leaves nothing',
    async (bytes) => {
      const { instance, dir } = await withQueue();
      const upload = instance.openSession().enqueueStream('files', { payload: bytesOf(1, MiB), bytes });
      await expect(upload).rejects.toThrow(code('PAYLOAD_LENGTH_WRONG'));
      await untilStored(instance, dir, 0);
    },
  );

  it('with an announced length past the limit is refused before it begins', async () => {
    const { instance } = await withQueue();
    const session = instance.openSession();
    const upload = session.enqueueStream('files', { payload: bytesOf(1, 1), bytes: 1024 * MiB + 1 });
    await expect(upload).rejects.toThrow(code('PAYLOAD_TOO_LARGE'));
  });

  it('that exceeds the limit is refused when it does', async () => {
    const written: number[] = [];
    const store = {
      beginUpload: () => 1,
      endUpload: () => undefined,
      writeChunk: async (_place: unknown, body: Uint8Array) => void written.push(body.byteLength),
      discard: (_payload: number, chunks: number) => expect(chunks).toBe(written.length),
    };
    const piece = Buffer.alloc(64 * MiB);
    const endless = async function* () {
      for (;;) yield piece;
    };
    const upload = uploadAll(new PayloadUpload(store as unknown as PayloadStore), { payload: endless() });
    await expect(upload).rejects.toThrow(code('PAYLOAD_TOO_LARGE'));
    expect(written.every((bytes) => bytes === chunk)).toBe(true);
  });

  it('is aborted by its signal, by the close of its session, and by the close of the instance', async () => {
    const { instance, dir } = await withQueue();
    const stuck = async function* () {
      yield* bytesOf(1, MiB);
      await new Promise(() => undefined);
    };
    const abort = new AbortController();
    const [byName, byClose, byEnd] = [instance.openSession(), instance.openSession(), instance.openSession()];
    const uploads = [
      byName.enqueueStream('files', { payload: stuck(), signal: abort.signal }),
      byClose.enqueueStream('files', { payload: stuck() }),
      byEnd.enqueueStream('files', { payload: stuck() }),
    ].map((upload) => upload.catch((error: unknown) => error));
    await untilStored(instance, dir, 9); // All chunks of each upload are stored except the last one.
    await expect(byName.commit()).rejects.toThrow(code('SESSION_BUSY'));
    abort.abort();
    expect(await uploads[0]).toMatchObject({ code: 'PAYLOAD_INCOMPLETE' });
    await byClose.close();
    expect(await uploads[1]).toMatchObject({ code: 'SESSION_CLOSED' });
    await untilStored(instance, dir, 3);
    await instance.close();
    expect(await uploads[2]).toMatchObject({ code: 'SESSION_CLOSED' });
    await untilStored(await openTestInstance({ dir }), dir, 0);
  });

  it('of a queue that is dropped meanwhile is refused at its end, and leaves nothing', async () => {
    const { instance, dir } = await withQueue();
    const dropping = async function* () {
      yield* bytesOf(1, MiB);
      await instance.dropQueue('files');
      await instance.createQueue({ name: 'files' });
    };
    const upload = instance.openSession().enqueueStream('files', { payload: dropping() });
    await expect(upload).rejects.toThrow(code('QUEUE_DROPPED'));
    await untilStored(instance, dir, 0);
  });

  it('is refused past the maximum of concurrent uploads', async () => {
    const { instance } = await withQueue();
    const stuck = () =>
      new Readable({
        read() {
          // This source never gives data.
        },
      });
    const sessions = Array.from({ length: 65 }, () => instance.openSession());
    const uploads = sessions.map((session) => session.enqueueStream('files', { payload: stuck() }));
    await expect(uploads.pop()).rejects.toThrow(code('UPLOADS_FULL'));
    const closed = uploads.map((upload) => expect(upload).rejects.toThrow(code('SESSION_CLOSED')));
    await Promise.all(sessions.map((session) => session.close()));
    await Promise.all(closed);
  });

  it.each<[string, () => unknown]>([
    ['a string', () => 'text'],
    ['pieces that are not bytes', () => Readable.from(['text'])],
    ['nothing', () => undefined],
  ])('of %s is refused, and leaves no upload under way', async (_, payload) => {
    const { instance } = await withQueue();
    const session = instance.openSession();
    for (let refused = 0; refused <= limits.uploadsMax; refused += 1) {
      const upload = session.enqueueStream('files', { payload: payload() as Readable });
      await expect(upload).rejects.toThrow(code('MESSAGE_INVALID'));
    }
  });

  it.each<[string, Partial<QueueSpec>]>([
    ['an unsharded queue', { kind: 'unsharded' }],
    ['a nonpersistent one', { durability: 'memory' }],
  ])('to %s is refused', async (_, spec) => {
    const { instance } = await withQueue(spec);
    const upload = instance.openSession().enqueueStream('files', { payload: bytesOf(1, 1) });
    await expect(upload).rejects.toThrow(code('STREAM_UNSUPPORTED'));
  });
});

describe('the chunks of a payload', () => {
  it('are stored once for all subscribers of a topic, and deleted with the last', async () => {
    const { instance, dir } = await withQueue({ type: 'topic' });
    for (const name of ['one', 'two', 'left']) await instance.subscribe('files', { name });
    await putStream(instance.openSession(), 'files', { seed: 5, bytes: MiB });
    for (const subscriber of ['one', 'two']) {
      const session = instance.openSession();
      const [message] = await session.dequeue('files', { subscriber });
      expect((await storedBy(instance, dir)).chunks).toBe(4);
      expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(5, MiB)));
      await session.commit();
    }
    await instance.unsubscribe('files', 'left');
    await untilStored(instance, dir, 0);
  });

  it('are deleted at once without subscribers, and when the last one has passed over messages for others', async () => {
    const { instance, dir } = await withQueue({ type: 'topic' });
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 5, bytes: MiB });
    await untilStored(instance, dir, 0);
    for (const name of ['one', 'two']) await instance.subscribe('files', { name });
    await putStream(session, 'files', { seed: 5, bytes: MiB, recipients: ['one'] });
    await session.dequeue('files', { subscriber: 'one' });
    await session.commit();
    expect((await storedBy(instance, dir)).chunks).toBe(4);
    expect(await session.dequeue('files', { subscriber: 'two' })).toEqual([]);
    await untilStored(instance, dir, 0);
  });

  it.each(['queue', 'topic'] as const)(
    'are deleted with the last consumption in a %s, after a restart too',
    async (type) => {
      const dir = makeFolder();
      const instance = await openInstance({ dir });
      await instance.createQueue({ name: 'files', type });
      const subscribers = type === 'topic' ? ['one', 'two'] : [];
      for (const name of subscribers) await instance.subscribe('files', { name });
      await putStream(instance.openSession(), 'files', { seed: 5, bytes: MiB });
      await instance.close();
      const again = await openTestInstance({ dir });
      const session = again.openSession();
      for (const consumer of type === 'topic' ? subscribers.map((subscriber) => ({ subscriber })) : [{}]) {
        expect((await storedBy(again, dir)).chunks).toBe(4);
        await session.dequeue('files', { waitMs: 10_000, ...consumer });
        await session.commit();
      }
      await untilStored(again, dir, 0);
    },
  );

  it('are deleted with their queue, those of delayed messages too', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 1, bytes: MiB });
    await putStream(session, 'files', { seed: 2, bytes: MiB, delayMs: 60_000 });
    expect(await storedBy(instance, dir)).toMatchObject({ chunks: 8, uses: 2 });
    await instance.dropQueue('files');
    await untilStored(instance, dir, 0);
    expect(stored(dir).uses).toBe(0);
  });

  it('are kept when a delayed message moves to its shard', async () => {
    const { instance, dir } = await withQueue();
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 2, bytes: MiB, delayMs: 1 });
    await putStream(session, 'files', { seed: 3, bytes: MiB, delayMs: 60_000 });
    const [message] = await session.dequeue('files', { waitMs: 10_000 });
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(2, MiB)));
    expect(await storedBy(instance, dir)).toMatchObject({ chunks: 8, uses: 2 });
    await session.commit();
    await untilStored(instance, dir, 4);
    const { messages } = await instance.browse('files');
    expect(await digest(messages[0]!.payloadStream())).toEqual(await digest(bytesOf(3, MiB)));
  });

  it.each([0, 3, 9])('of a delayed message of priority %i are kept over a restart', async (priority) => {
    const { instance, dir } = await withQueue({ priorities: true });
    await putStream(instance.openSession(), 'files', { seed: 4, bytes: MiB, delayMs: 60_000, priority });
    await instance.close();
    const again = await openTestInstance({ dir });
    const { messages } = await again.browse('files');
    expect(await digest(messages[0]!.payloadStream())).toEqual(await digest(bytesOf(4, MiB)));
    await again.close();
    expect(stored(dir)).toMatchObject({ chunks: 4, uses: 1 });
  });

  it('are shared by a message in the exception queue and other subscribers that have not consumed it', async () => {
    const { instance, dir } = await withQueue({ type: 'topic', attemptsMax: 1 });
    for (const name of ['one', 'two']) await instance.subscribe('files', { name });
    const session = instance.openSession();
    await putStream(session, 'files', { seed: 9, bytes: MiB });
    await session.dequeue('files', { subscriber: 'one' });
    await session.rollback();
    const failed = instance.openSession();
    const [moved] = await failed.dequeue('files.exceptions', { waitMs: 10_000 });
    expect(await digest(moved!.payloadStream())).toEqual(await digest(bytesOf(9, MiB)));
    expect(await storedBy(instance, dir)).toMatchObject({ chunks: 4, uses: 2 });
    await session.dequeue('files', { subscriber: 'two' });
    await session.commit();
    expect(await digest(moved!.payloadStream())).toEqual(await digest(bytesOf(9, MiB)));
    await failed.commit();
    await untilStored(instance, dir, 0);
  });

  it('are kept when the partition of an evacuated message is truncated', async () => {
    const dir = makeFolder();
    const small = { dir, partitionMessagesMax: 4 };
    const instance = await openInstance(small);
    await instance.createQueue({ name: 'files' });
    const [holder, session] = [instance.openSession(), instance.openSession()];
    await putStream(session, 'files', { seed: 4, bytes: MiB });
    await holder.dequeue('files');
    for (let i = 0; i < 30; i += 1) {
      session.enqueue('files', { payload: 'x' });
      await session.commit();
      await session.dequeue('files', { waitMs: 10_000 });
      await session.commit();
    }
    await vi.waitFor(() => expect(instance.stats().shards[0]!.partitions.length).toBeLessThan(5), waiting);
    await instance.close();
    const again = await openTestInstance(small);
    const [message] = await again.openSession().dequeue('files', { waitMs: 10_000 });
    expect(message).toMatchObject({ deliveryCount: 2 });
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(4, MiB)));
  });
});
