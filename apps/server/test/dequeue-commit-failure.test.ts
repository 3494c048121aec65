/** A dequeue with mode auto consumes in a commit of its own. If that fails, its messages must not stay hidden. */
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { openInstance } from '@shardlab/engine';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QueueService } from '../src/queues/queue-service.ts';
import { makeDataDir } from './start-app.ts';

const never = new AbortController().signal;

/** Makes the writer fail for a while: another connection has the file locked while `work` runs. */
async function whileLocked(path: string, work: () => Promise<void>): Promise<void> {
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  try {
    await work();
  } finally {
    other.close();
  }
}

describe('an automatic dequeue whose commit fails', () => {
  it('reports a retryable error, and its messages are ready again at once', async () => {
    const dir = join(makeDataDir(), 'cluster');
    const instance = await openInstance({ dir });
    onTestFinished(() => instance.close());
    await instance.createQueue({ name: 'q', durability: 'relaxed' });
    const service = new QueueService({ queues: instance });
    await service.enqueue(new EventEmitter(), 'q', [{ payload: 1 }, { payload: 2 }]);
    await whileLocked(join(dir, 'instance-1.db'), async () => {
      const dequeue = service.dequeue('q', { max: 2, mode: 'at-most-once' }, never);
      await expect(dequeue).rejects.toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
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
