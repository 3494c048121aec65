/** What a session has of a shared queue's memory: its counts, the metadata object and the channel, each behind its guard. */
import type { SharedQueueHandle } from '../api/shared-queue.ts';
import type { Clock } from '../model/ports.ts';
import { BroadcastChannel } from './broadcast-channel.ts';
import { type Guard, Latch } from './latch.ts';
import type { QueueMemory } from './queue-memory.ts';
import { QueueObject } from './queue-object.ts';
import { SessionCounts } from './session-counts.ts';
import { SubscriberTable } from './subscriber-table.ts';

export interface JoinOptions {
  memory: QueueMemory;
  session: number;
  clock: Pick<Clock, 'monotonicMs'>;
}

export function joinSharedMemory(
  { statistics }: Pick<SharedQueueHandle, 'statistics'>,
  { memory, session, clock }: JoinOptions,
) {
  const counts = new SessionCounts(statistics, session);
  const { words } = memory;
  const common = { words, holder: session + 1, clock };
  const latch: Guard = new Latch({ ...common, at: memory.latchAt, counts: counts.latch });
  const mutexes: Guard[] = Array.from(
    { length: memory.shape.copies },
    (_, copy) => new Latch({ ...common, at: memory.mutexAt(copy), counts: counts.mutex }),
  );
  const table = new SubscriberTable(memory);
  return {
    memory,
    session,
    counts,
    object: new QueueObject({ memory, table, session, counts, mutexes }),
    channel: new BroadcastChannel({ memory, session, latch }),
  };
}
