/** Idempotency keys of transactions with streamed payloads: a repeat uploads them again, they are compared, and stored once. */
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import type { Instance, Session, StreamedMessage } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { bytesOf, digest, stored } from '../streams/payloads.ts';

const code = (value: string) => expect.objectContaining({ code: value });
const bytes = 600_000;
const chunks = 3;

interface Put extends Omit<StreamedMessage, 'payload'> {
  seed: number;
  length?: number;
}

async function putOnce(
  { openSession }: Pick<Instance, 'openSession'>,
  idempotencyKey: string,
  { seed, length = bytes, ...message }: Put,
  stageMore: (session: Session) => unknown = () => undefined,
) {
  const session = openSession();
  try {
    await session.enqueueStream('q', { ...message, payload: bytesOf(seed, length) });
    await stageMore(session);
    return await session.commit({ idempotencyKey });
  } finally {
    await session.close();
  }
}

async function withQueue(dir = makeFolder()) {
  const instance = await openTestInstance({ dir });
  if (instance.queues().length === 0) await instance.createQueue({ name: 'q' });
  return { dir, instance: { openSession: () => instance.openSession() }, opened: instance };
}

const whenStored = (dir: string, expected: object) =>
  vi.waitFor(() => expect(stored(dir)).toMatchObject(expected), { timeout: 20_000, interval: 20 });

describe('a transaction with a streamed payload and an idempotency key', () => {
  it('is committed once, across a restart too; the upload of a repeat is deleted', async () => {
    const { dir, instance, opened } = await withQueue();
    const first = await putOnce(instance, 'k', { seed: 1 });
    expect(first.replayed).toBe(false);
    const again = await putOnce(instance, 'k', { seed: 1 });
    expect(again).toMatchObject({ replayed: true, ids: first.ids });
    await opened.close();
    const reopened = await withQueue(dir);
    expect(await putOnce(reopened.instance, 'k', { seed: 1 })).toMatchObject({
      replayed: true,
      ids: first.ids,
    });
    expect((await putOnce(reopened.instance, 'l', { seed: 1 })).replayed).toBe(false);
    await whenStored(dir, { chunks: 2 * chunks, payloads: 2, uses: 2 });
    const reader = reopened.instance.openSession();
    for (const message of await reader.dequeue('q', { max: 9 }))
      expect(await digest(message.payloadStream())).toEqual(await digest(bytesOf(1, bytes)));
    await reader.commit();
    expect(reopened.opened.queue('q').ready).toBe(0);
  });

  it('is refused under the key of a transaction that differs in any part', async () => {
    const { dir, instance, opened } = await withQueue();
    const puts: Put[] = [
      { seed: 1 },
      { seed: 2 },
      { seed: 1, length: bytes - 1 },
      { seed: 1, correlationId: 'c' },
      { seed: 1, properties: { a: 'b' } },
      { seed: 1, delayMs: 3_600_000 },
      { seed: 1, length: 1_000 }, // This payload is stored in the record.
    ];
    for (const [index, put] of puts.entries())
      expect((await putOnce(instance, `${index}`, put)).replayed).toBe(false);
    for (const [index, put] of puts.entries()) {
      for (const [key] of puts.entries()) {
        const repeat = putOnce(instance, `${key}`, put);
        if (key === index) expect((await repeat).replayed).toBe(true);
        else await expect(repeat).rejects.toThrow(code('IDEMPOTENCY_KEY_REUSED'));
      }
    }
    expect(opened.queue('q').enqueued).toBe(puts.length);
    await whenStored(dir, { payloads: puts.length - 1, uses: puts.length - 1 });
  });

  it('compares several payloads, messages and statements in the order of the calls', async () => {
    const { instance, opened } = await withQueue();
    const more = (seeds: number[]) => async (session: Session) => {
      session.enqueue('q', { payload: 'between' });
      for (const seed of seeds) await session.enqueueStream('q', { payload: bytesOf(seed, bytes) });
      session.execute('SELECT 1');
    };
    const first = await putOnce(instance, 'k', { seed: 1 }, more([2, 3]));
    expect(first.ids).toHaveLength(4);
    const again = await putOnce(instance, 'k', { seed: 1 }, more([2, 3]));
    expect(again.replayed).toBe(true);
    expect(again.ids).toEqual(first.ids);
    await expect(putOnce(instance, 'k', { seed: 1 }, more([3, 2]))).rejects.toThrow(
      code('IDEMPOTENCY_KEY_REUSED'),
    );
    expect(opened.queue('q').enqueued).toBe(4);
  });

  it('is committed by exactly one of many concurrent sessions', async () => {
    const { dir, instance } = await withQueue();
    const answers = await Promise.all(Array.from({ length: 6 }, () => putOnce(instance, 'k', { seed: 1 })));
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(answers.map(({ ids }) => ids.join())).size).toBe(1);
    await whenStored(dir, { chunks, payloads: 1, uses: 1 });
  });

  it('is refused with a malformed key before its payload is read', async () => {
    const { instance } = await withQueue();
    const payload = Readable.from([Buffer.alloc(1)]);
    await expect(instance.openSession().enqueueStream('q', { payload, idempotencyKey: 'ä' })).rejects.toThrow(
      code('OPTIONS_INVALID'),
    );
    expect(payload.readableDidRead).toBe(false);
  });
});
