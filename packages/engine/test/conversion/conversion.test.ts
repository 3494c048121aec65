/** An unsharded queue becomes a sharded one of the same name while clients use it. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import {
  type Conversion,
  type ConversionStage,
  type ConvertOptions,
  cancelConversion,
  convertQueue,
  type Instance,
  openQueue,
  readConversion,
} from '../../src/index.ts';
import { messageRowChecksum } from '../../src/storage/checksum.ts';
import { makeFolder, openTestClient, openTestInstance, text } from '../folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });
const queue = 'orders';

async function withMessages(...payloads: string[]): Promise<{ dir: string; instance: Instance }> {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: queue, kind: 'unsharded', durability: 'relaxed' });
  await put(instance, ...payloads);
  return { dir, instance };
}

async function put(instance: Pick<Instance, 'openSession'>, ...payloads: string[]): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue(queue, { payload });
  await session.commit();
  await session.close();
}

/** Consumes all ready messages; waits for the first one. */
async function takeAll(instance: Pick<Instance, 'openSession'>): Promise<string[]> {
  const session = instance.openSession();
  const messages = await session.dequeue(queue, { max: 100, waitMs: 10_000 });
  await session.commit();
  await session.close();
  return text(messages);
}

/** Begins a conversion and abandons it before the given stage. */
async function convertTo(stage: ConversionStage, options: ConvertOptions): Promise<void> {
  const stop = new AbortController();
  const reached = (conversion: Conversion) => {
    if (conversion.stage === stage) stop.abort(new Error('there'));
  };
  const converting = convertQueue({ ...options, signal: stop.signal, onStep: reached });
  await expect(converting).rejects.toThrow('there');
}

describe('a conversion', () => {
  it('passes through each step of the white paper, and then the name is that of a sharded queue', async () => {
    const { dir, instance } = await withMessages();
    const stages: ConversionStage[] = [];
    const done = await convertQueue({
      dir,
      queue,
      shards: 2,
      attemptsMax: 5,
      onStep: ({ stage }) => stages.push(stage),
    });
    expect(stages).toEqual([...done.steps.map(({ step }) => step), 'done']);
    expect(done.steps.every(({ passedAtMs }) => passedAtMs !== null)).toBe(true);
    expect(done).toMatchObject({ stage: 'done', canCancel: false, settings: { shards: 2, attemptsMax: 5 } });
    instance.queues(); // Reads the catalog anew.
    expect(instance.queue(queue)).toMatchObject({
      kind: 'sharded',
      durability: 'relaxed',
      shards: 2,
      attemptsMax: 5,
      exceptionQueue: null, // created when it is needed
      enqueueEnabled: true,
      dequeueEnabled: true,
    });
    await put(instance, 'a', 'b');
    expect(await takeAll(instance)).toEqual(['a', 'b']);
  });

  it('waits until consumers have drained the queue, and refuses enqueues meanwhile', async () => {
    const { dir, instance } = await withMessages('a', 'b');
    const draining = Promise.withResolvers<void>();
    const converting = convertQueue({
      dir,
      queue,
      onStep: ({ stage }) => stage === 'drain' && draining.resolve(),
    });
    await draining.promise;
    await expect(put(instance, 'late')).rejects.toThrow(
      expect.objectContaining({ code: 'ENQUEUE_STOPPED', retryable: true }),
    );
    expect(await takeAll(instance)).toEqual(['a', 'b']);
    expect((await converting).stage).toBe('done');
    instance.queues();
    await put(instance, 'late');
    expect(await takeAll(instance)).toEqual(['late']);
  });

  it('refuses the commit of a transaction that was open before it, whose messages would have been lost', async () => {
    const { dir, instance } = await withMessages();
    const [before, unaware] = [instance.openSession(), instance.openSession()];
    before.enqueue(queue, { payload: 'staged' });
    unaware.enqueue(queue, { payload: 'staged' });
    await convertTo('drain', { dir, queue });
    // The instance may not have read the catalog since, so the file itself must refuse.
    await expect(before.commit()).rejects.toThrow(code('ENQUEUE_STOPPED'));
    await convertQueue({ dir, queue });
    instance.queues();
    await expect(unaware.commit()).rejects.toThrow(
      expect.objectContaining({ code: 'QUEUE_CONVERTED', retryable: true }),
    );
    for (const session of [before, unaware]) {
      session.enqueue(queue, { payload: 'again' });
      await session.commit();
    }
    expect(await takeAll(instance)).toEqual(['again', 'again']);
  });

  it('ends the waits of open sessions, which then find the new queue under the same name', async () => {
    const { dir, instance } = await withMessages();
    const client = await openTestClient(instance);
    const consumer = client.openSession();
    expect(await consumer.dequeue(queue)).toEqual([]); // The transaction of the consumer is open and empty.
    const waiting = consumer.dequeue(queue, { waitMs: 30_000 });
    const ended = expect(waiting).rejects.toThrow(expect.objectContaining({ retryable: true }));
    await convertQueue({ dir, queue });
    instance.queues();
    await ended;
    await put(client, 'a');
    expect(text(await consumer.dequeue(queue, { waitMs: 10_000 }))).toEqual(['a']);
    await consumer.commit();
  });

  it('does not disturb a consumer of the embedded queue', async () => {
    const dir = makeFolder();
    const embedded = await openQueue({ dir, name: queue, kind: 'unsharded' });
    const got: string[] = [];
    const both = Promise.withResolvers<void>();
    const consuming = embedded.consume(({ payload }) => {
      got.push(payload.toString());
      if (got.length === 2) both.resolve();
    });
    await embedded.enqueue({ payload: 'before' });
    await convertQueue({ dir, queue });
    const enqueue = async (): Promise<unknown> =>
      embedded.enqueue({ payload: 'after' }).catch((error) => (error.retryable ? enqueue() : error));
    await enqueue();
    await both.promise;
    expect(got).toEqual(['before', 'after']);
    expect(embedded.info().kind).toBe('sharded');
    await embedded.close();
    await consuming;
  });

  it('sets the size of the message cache of instances that were opened without one', async () => {
    const { dir, instance } = await withMessages();
    await convertQueue({ dir, queue, cacheBytesMax: 1024 * 1024 });
    instance.queues();
    const payload = Buffer.alloc(512 * 1024);
    const session = instance.openSession();
    for (let i = 0; i < 4; i += 1) {
      session.enqueue(queue, { payload });
      await session.commit();
    }
    const cached = () => instance.stats().shards.reduce((sum, { cacheBytes }) => sum + cacheBytes, 0);
    expect(cached()).toBeGreaterThan(0);
    expect(cached()).toBeLessThan(2 * 1024 * 1024);
  });
});

describe('a conversion that cannot continue', () => {
  it('reports how many messages are left when the drain takes too long, and continues after it', async () => {
    const { dir, instance } = await withMessages('a', 'b');
    const holder = instance.openSession();
    await holder.dequeue(queue);
    await expect(convertQueue({ dir, queue, drainMsMax: 0 })).rejects.toThrow(
      expect.objectContaining({
        code: 'QUEUE_NOT_DRAINED',
        retryable: true,
        details: { queue, ready: 1, held: 1 },
      }),
    );
    expect((await readConversion({ dir, queue }))?.stage).toBe('drain');
    await holder.commit();
    await takeAll(instance);
    expect((await convertQueue({ dir, queue })).stage).toBe('done');
  });

  it('reports at once that the queue cannot be drained while dequeue is stopped', async () => {
    const { dir, instance } = await withMessages('a');
    await instance.stopQueue(queue, { dequeue: true });
    await expect(convertQueue({ dir, queue })).rejects.toThrow(/stopped for dequeue/);
  });

  it('returns to the drain if the table has a message that the totals do not count', async () => {
    const { dir, instance } = await withMessages('a');
    await takeAll(instance);
    await convertTo('check-empty', { dir, queue });
    const file = new Database(join(dir, 'unsharded.db'));
    const record = Buffer.from('130000000000a07217d01f7a427365636f6e64', 'hex');
    const crc = messageRowChecksum({ id: 99, queueId: 1 }, record);
    file.prepare('INSERT INTO message (id, queue_id, crc, record) VALUES (99, 1, ?, ?)').run(crc, record);
    file
      .prepare(
        'UPDATE queue_total SET consumed = consumed - 1, checksum_sum = checksum_sum + ? WHERE queue_id = 1',
      )
      .run(crc);
    file.close();
    await expect(convertQueue({ dir, queue })).rejects.toThrow(code('QUEUE_NOT_DRAINED'));
    const { stage, steps } = (await readConversion({ dir, queue }))!;
    expect([stage, steps.filter(({ passedAtMs }) => passedAtMs !== null).map(({ step }) => step)]).toEqual([
      'drain',
      ['stop-enqueue'],
    ]);
    instance.queues();
    expect(await takeAll(instance)).toEqual(['second']);
    expect((await convertQueue({ dir, queue })).stage).toBe('done');
  });

  it('is refused for a sharded or missing queue, and with settings that a sharded queue cannot have', async () => {
    const { dir, instance } = await withMessages();
    await instance.createQueue({ name: 'sharded' });
    const refused = (options: Partial<ConvertOptions>) =>
      expect(convertQueue({ dir, queue, ...options })).rejects;
    await refused({ queue: 'sharded' }).toThrow(code('QUEUE_NOT_CONVERTIBLE'));
    await refused({ queue: 'none' }).toThrow(code('QUEUE_NOT_FOUND'));
    await refused({ dir: makeFolder() }).toThrow(code('QUEUE_NOT_FOUND'));
    await refused({ shards: 99 }).toThrow(code('QUEUE_SPEC_INVALID'));
    await refused({ cacheBytesMax: 1 }).toThrow(code('OPTIONS_INVALID'));
    await refused({ drainMsMax: -1 }).toThrow(code('OPTIONS_INVALID'));
    await instance.createQueue({ name: `${queue}.exceptions` });
    await refused({ attemptsMax: 3 }).toThrow(code('QUEUE_EXISTS'));
    expect(await readConversion({ dir, queue })).toBeUndefined();
    expect(instance.queue(queue)).toMatchObject({ kind: 'unsharded', enqueueEnabled: true });
  });

  it('can only be resumed with the settings with which it was begun', async () => {
    const { dir } = await withMessages('a');
    await expect(convertQueue({ dir, queue, shards: 2, drainMsMax: 0 })).rejects.toThrow(
      code('QUEUE_NOT_DRAINED'),
    );
    await expect(convertQueue({ dir, queue, shards: 3 })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(convertQueue({ dir, queue, shards: 2, drainMsMax: 0 })).rejects.toThrow(
      code('QUEUE_NOT_DRAINED'),
    );
  });
});

describe('a queue that is being converted', () => {
  it('cannot be started, stopped or dropped', async () => {
    const { dir, instance } = await withMessages('a');
    await convertTo('drain', { dir, queue });
    for (const call of [
      () => instance.startQueue(queue),
      () => instance.stopQueue(queue),
      () => instance.dropQueue(queue),
    ]) {
      await expect(call()).rejects.toThrow(
        expect.objectContaining({ code: 'QUEUE_CONVERTING', retryable: true }),
      );
    }
  });

  it.each(['stop-enqueue', 'drain', 'stop-dequeue', 'check-empty', 'drop', 'size-cache', 'create'] as const)(
    'is an unsharded queue as before if the conversion is cancelled before %s',
    async (stage) => {
      const { dir, instance } = await withMessages('a');
      if (stage !== 'stop-enqueue' && stage !== 'drain') await takeAll(instance);
      await convertTo(stage, { dir, queue });
      await cancelConversion({ dir, queue });
      instance.queues();
      expect(instance.queue(queue)).toMatchObject({
        kind: 'unsharded',
        enqueueEnabled: true,
        dequeueEnabled: true,
      });
      await put(instance, 'b');
      expect((await takeAll(instance)).at(-1)).toBe('b');
      expect(await readConversion({ dir, queue })).toBeUndefined();
      expect((await convertQueue({ dir, queue })).stage).toBe('done');
    },
  );

  it('cannot be cancelled once the sharded queue exists, nor before a conversion has begun', async () => {
    const { dir } = await withMessages();
    await expect(cancelConversion({ dir, queue })).rejects.toThrow(code('CONVERSION_NOT_FOUND'));
    await convertTo('start', { dir, queue });
    await expect(cancelConversion({ dir, queue })).rejects.toThrow(code('CONVERSION_PAST_CANCEL'));
    expect((await convertQueue({ dir, queue })).stage).toBe('done');
    await expect(cancelConversion({ dir, queue })).rejects.toThrow(code('CONVERSION_PAST_CANCEL'));
  });

  it('may be converted by two callers at once, and once more when it is done', async () => {
    const { dir, instance } = await withMessages('a');
    const both = [convertQueue({ dir, queue }), convertQueue({ dir, queue })];
    expect(await takeAll(instance)).toEqual(['a']);
    expect((await Promise.all(both)).map(({ stage }) => stage)).toEqual(['done', 'done']);
    expect((await convertQueue({ dir, queue })).stage).toBe('done');
  });

  it('ends the call that drives the conversion with an error when another call cancels it', async () => {
    const { dir } = await withMessages('a');
    const draining = Promise.withResolvers<void>();
    const converting = convertQueue({
      dir,
      queue,
      onStep: ({ stage }) => stage === 'drain' && draining.resolve(),
    });
    const refused = expect(converting).rejects.toThrow(code('CONVERSION_NOT_FOUND'));
    await draining.promise;
    await cancelConversion({ dir, queue });
    await refused;
  });

  it('can be dropped and created again after its conversion, with nothing left of the old queue', async () => {
    const { dir, instance } = await withMessages();
    await convertQueue({ dir, queue });
    instance.queues();
    await instance.dropQueue(queue);
    expect(await readConversion({ dir, queue })).toBeUndefined();
    await instance.createQueue({ name: queue, kind: 'unsharded' });
    await put(instance, 'a');
    expect(await takeAll(instance)).toEqual(['a']);
  });
});
