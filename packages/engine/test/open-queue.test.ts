import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type EmbeddedQueue, openQueue, QueueError } from '../src/index.ts';
import { InstanceSession } from '../src/runtime/instance-session.ts';
import { makeFolder, text } from './folder.ts';

async function open(dir = makeFolder()): Promise<EmbeddedQueue> {
  const queue = await openQueue({ dir, name: 'orders' });
  onTestFinished(() => queue.close());
  return queue;
}

describe('a queue in one program', () => {
  it('delivers each message to a handler once and in order, also across a restart', async () => {
    const dir = makeFolder();
    const first = await open(dir);
    await first.enqueue([{ payload: 'a' }, { payload: 'b' }]);
    await first.close();
    const second = await open(dir);
    await second.enqueue({ payload: 'c' });
    const seen: string[] = [];
    const stop = new AbortController();
    await second.consume(
      (message) => {
        seen.push(message.payload.toString());
        if (seen.length === 3) stop.abort();
      },
      { signal: stop.signal },
    );
    expect(seen).toEqual(['a', 'b', 'c']);
    expect(second.info()).toMatchObject({ ready: 0, held: 0, consumed: 3 });
  });

  it('shares commits between concurrent calls, each with its own ids in order', async () => {
    const queue = await open();
    const calls = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        queue.enqueue([{ payload: `${index}` }, { payload: `${index}'` }]),
      ),
    );
    const ids = calls.flat();
    expect(new Set(ids).size).toBe(100);
    expect(ids).toEqual([...ids].sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1])));
  });

  it('refuses a bad message without failing concurrent calls', async () => {
    const queue = await open();
    const good = queue.enqueue({ payload: 'a' });
    const bad = queue.enqueue([{ payload: 'b' }, { payload: Buffer.alloc(2 ** 20 + 1) }]);
    await expect(bad).rejects.toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
    expect(await good).toHaveLength(1);
    expect(queue.info().ready).toBe(1);
  });

  it('refuses what only another queue takes without failing concurrent calls, and keeps their order', async () => {
    const queue = await open();
    const before = queue.enqueue({ payload: 'before' }); // the others share the next commit
    const calls = [
      queue.enqueue({ payload: 'a' }),
      queue.enqueue([{ payload: 'b' }, { payload: 'b', priority: 5 }]),
      queue.enqueue({ payload: 'c' }),
      queue.enqueue({ payload: 'd', recipients: ['nobody'] }),
      queue.enqueue({ payload: 'e' }),
    ];
    await before;
    const ends = await Promise.allSettled(calls);
    expect(ends.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(text(await queue.openSession().dequeue('orders', { max: 9 }))).toEqual(['before', 'a', 'c', 'e']);
  });

  it('still enqueues after a rollback that failed', async () => {
    const queue = await open();
    const rollback = vi.spyOn(InstanceSession.prototype, 'rollback');
    onTestFinished(() => rollback.mockRestore());
    rollback.mockRejectedValueOnce(new QueueError('STORAGE_FAILED'));
    const refused = queue.enqueue({ payload: 'a', priority: 5 });
    await expect(refused).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
    expect(await queue.enqueue({ payload: 'b' })).toHaveLength(1);
  });

  it('refuses in a later turn, so that a caller that retries at once does not starve the event loop', async () => {
    const queue = await open();
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const forNobody = { payload: 'a', recipients: ['nobody'] };
    await expect(queue.enqueue(forNobody)).rejects.toMatchObject({ name: 'QueueError' });
    expect(turned).toBe(true);
  });

  it('delivers a message again after its handler failed', async () => {
    const queue = await open();
    await queue.enqueue({ payload: 'a' });
    const counts: number[] = [];
    const errors: unknown[] = [];
    const stop = new AbortController();
    await queue.consume(
      (message) => {
        counts.push(message.deliveryCount);
        if (message.deliveryCount === 1) throw new Error('not yet');
        stop.abort();
      },
      { signal: stop.signal, onError: (error) => errors.push(error) },
    );
    expect(counts).toEqual([1, 2]);
    expect(errors).toHaveLength(1);
  });

  it('ends all handlers of a consumption when its onError throws', async () => {
    const queue = await open();
    let calls = 0;
    const consuming = queue.consume(
      () => {
        calls += 1;
        if (calls === 1) throw new QueueError('STORAGE_FAILED');
      },
      {
        concurrency: 3,
        onError(error) {
          throw error;
        },
      },
    );
    await queue.enqueue({ payload: 'a' });
    await expect(consuming).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    const { ready } = queue.info();
    await queue.enqueue({ payload: 'for nobody' });
    expect(queue.info()).toMatchObject({ ready: ready + 1, held: 0 });
  });

  it('ends its consumers when it closes, and accepts nothing afterwards', async () => {
    const queue = await open();
    const consuming = queue.consume(() => undefined, { concurrency: 3 });
    await queue.close();
    await consuming;
    await expect(queue.enqueue({ payload: 'x' })).rejects.toThrow(
      expect.objectContaining({ code: 'INSTANCE_CLOSED' }),
    );
  });
});
