/** Two processes that change a queue at the same time, which the servers do not notice. */
import { expect, it } from 'vitest';
import { QueueCatalog } from '../src/queue-catalog.ts';
import { type QueueRow, streamConfigOf } from '../src/queue-config.ts';
import type { ServerLink } from '../src/server-link.ts';

const row: QueueRow = {
  name: 'q',
  type: 'queue',
  shards: 1,
  durability: 'relaxed',
  attemptsMax: null,
  attemptsCounted: 'on-return',
  retryDelayMs: 0,
  bytesMax: null,
  replicas: 1,
  enqueueEnabled: true,
  dequeueEnabled: true,
};

it('stop enqueue and dequeue of a queue, and neither stop is lost', async () => {
  let stored = { config: streamConfigOf(row), state: { messages: 0, last_seq: 0 } };
  const [read, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const catalogWith = (steps: { onRead?: () => void; mayWrite: Promise<void>; onWritten?: () => void }) => {
    const streams = {
      async info() {
        steps.onRead?.();
        return stored;
      },
      async update(_name: string, config: (typeof stored)['config']) {
        await steps.mayWrite;
        stored = { ...stored, config };
        steps.onWritten?.();
      },
    };
    const counts = { num_pending: 0, num_ack_pending: 0, num_waiting: 0, config: {} };
    const manager = { streams, consumers: { info: async () => counts } };
    const link = { manager, call: (attempt: () => Promise<unknown>) => attempt() };
    return new QueueCatalog(link as unknown as ServerLink, {
      sync: 'interval',
      replicas: 1,
      ackWaitMs: 30_000,
    });
  };
  // The second has read before the first writes, and writes after it.
  const first = catalogWith({ mayWrite: read.promise, onWritten: written.resolve });
  const second = catalogWith({ onRead: read.resolve, mayWrite: written.promise });
  await Promise.all([
    first.setEnabled('q', false, { dequeue: false }),
    second.setEnabled('q', false, { enqueue: false }),
  ]);
  expect(await first.info('q')).toMatchObject({ enqueueEnabled: false, dequeueEnabled: false });
});
