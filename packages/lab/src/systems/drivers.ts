/** The drivers of the lab by name. Their modules are loaded only by the client processes that need them. */
import type { OpenClient } from './driver/driver.ts';
import type { EngineQueue } from './engine-sessions.ts';

export const engineQueues = {
  sharded: { kind: 'sharded', durability: 'durable' },
  unsharded: { kind: 'unsharded', durability: 'durable' },
  'unsharded-grouped': { kind: 'unsharded-grouped', durability: 'durable' },
  buffered: { kind: 'sharded', durability: 'memory', visibility: 'immediate' },
} as const satisfies Record<string, EngineQueue>;

type EngineQueueName = keyof typeof engineQueues;

const embedded = (name: EngineQueueName) => async () =>
  (await import('./engine-embedded.ts')).openEmbedded(engineQueues[name]);
const remote =
  (name: EngineQueueName, sessions: 'plain' | 'prefetching' = 'plain') =>
  async () =>
    (await import('./engine-remote.ts')).openRemote(engineQueues[name], sessions);

export const drivers = {
  null: async () => (await import('./null-system.ts')).open,
  sharded: embedded('sharded'),
  'sharded-remote': remote('sharded'),
  'sharded-prefetch': remote('sharded', 'prefetching'),
  unsharded: embedded('unsharded'),
  'unsharded-grouped': embedded('unsharded-grouped'),
  buffered: embedded('buffered'),
  'buffered-remote': remote('buffered'),
  rest: async () => (await import('./rest-sessions.ts')).openRest({ creates: true }),
  'rest-validating': async () => (await import('./rest-sessions.ts')).openRest({ creates: false }),
  'log-loop': async () => (await import('./peers/loops/log-loop.ts')).open,
  'group-loop': async () => (await import('./peers/loops/group-loop.ts')).open,
  jetstream: async () => (await import('./jetstream-sessions.ts')).open,
  'redis-plain': async () => (await import('./redis-list.ts')).openRedisList('plain'),
  'redis-reliable': async () => (await import('./redis-list.ts')).openRedisList('reliable'),
  bullmq: async () => (await import('./peers/bullmq.ts')).open,
  'pg-boss': async () => (await import('./peers/pg-boss.ts')).open,
  'graphile-worker': async () => (await import('./peers/graphile-worker.ts')).open,
  'postgres-skip-locked': async () => (await import('./peers/postgres-skip-locked.ts')).open,
  'nats-jetstream': async () => (await import('./peers/nats-jetstream.ts')).open,
  plainjob: async () => (await import('./peers/plainjob.ts')).open,
} satisfies Record<string, () => Promise<OpenClient>>;

export type DriverName = keyof typeof drivers;
