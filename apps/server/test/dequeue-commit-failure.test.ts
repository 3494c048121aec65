/** A dequeue with mode auto consumes in a commit of its own. If that fails, its messages must not stay hidden. */
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { openInstance } from '@shardlab/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { whileLogFull } from '../../../packages/engine/test/while-log-full.ts';
import { QueueService } from '../src/queues/queue-service.ts';
import { makeDataDir } from './start-app.ts';

const never = new AbortController().signal;

describe('an automatic dequeue whose commit fails', () => {
  it('reports a retryable error, and its messages are ready again at once', async () => {
    const dir = join(makeDataDir(), 'cluster');
    const instance = await openInstance({ dir });
    onTestFinished(() => instance.close());
    await instance.createQueue({ name: 'q', durability: 'relaxed' });
    const service = new QueueService({ queues: instance });
    await service.enqueue(new EventEmitter(), 'q', [{ payload: 1 }, { payload: 2 }]);
    await whileLogFull(async () => {
      const dequeue = service.dequeue('q', { max: 2, mode: 'at-most-once' }, never);
      await expect(dequeue).rejects.toMatchObject({ code: 'STORAGE_FULL', retryable: true });
      expect(instance.queue('q')).toMatchObject({ ready: 2, held: 0, consumed: 0 });
    });
    const again = await service.dequeue('q', { max: 2, mode: 'at-most-once' }, never);
    expect(again.messages).toMatchObject([
      { payload: { text: '1' }, deliveryCount: 2 },
      { payload: { text: '2' }, deliveryCount: 2 },
    ]);
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
  });
});
