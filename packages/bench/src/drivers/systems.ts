/** All systems of the bench; a system is a driver at one durability. */
import {
  engineServer,
  drivers as labDrivers,
  nats,
  natsSynced,
  natsUnsynced,
  type OpenClient,
  postgres,
  redis,
  type ServerKind,
} from '@shardlab/lab';

/** Modules are loaded only by the client processes that need them. */
const modules = {
  sharded: labDrivers.sharded,
  unsharded: labDrivers.unsharded,
  plainjob: labDrivers.plainjob,
  'redis-list': labDrivers['redis-reliable'],
  bullmq: labDrivers.bullmq,
  'pg-boss': labDrivers['pg-boss'],
  'graphile-worker': labDrivers['graphile-worker'],
  'nats-jetstream': labDrivers['nats-jetstream'],
  generator: labDrivers.null,
} satisfies Record<string, () => Promise<OpenClient>>;

export type DriverName = keyof typeof modules;

export async function loadDriver(name: DriverName, placement: System['placement']): Promise<OpenClient> {
  if (name === 'sharded' && placement === 'remote') return labDrivers['sharded-remote']();
  return modules[name]();
}

export interface System {
  driver: DriverName;
  durability: string;
  /** Whether messages are synced to the disk before they are acknowledged. */
  synced: boolean;
  placement: 'embedded' | 'remote';
  /** Scope in which first deliveries of a sender's messages are in order: all consumers of a process, each consumer, or none. */
  order: 'process' | 'consumer' | 'none';
  server: ServerKind | null;
  /** Required packages of the peers' folder; the first one gives the version shown. */
  packages: readonly string[];
}

const embedded = { placement: 'embedded', server: null, packages: [] } as const;
const remote = { placement: 'remote', order: 'none' } as const;

export const sharded: System = {
  ...embedded,
  driver: 'sharded',
  durability: 'durable',
  synced: true,
  order: 'process',
};
/** Sessions that share one connection may observe deliveries in a different order than they were made. */
export const shardedRemote: System = {
  ...sharded,
  placement: 'remote',
  order: 'consumer',
  server: engineServer,
};
export const unsharded: System = { ...sharded, driver: 'unsharded', order: 'consumer' };
export const generator: System = { ...sharded, driver: 'generator', durability: 'none', synced: false };

export const plainjobs: readonly System[] = [
  { ...embedded, driver: 'plainjob', durability: 'FULL', synced: true, order: 'none' },
  { ...embedded, driver: 'plainjob', durability: 'NORMAL', synced: false, order: 'none' },
];

const onRedis = (driver: DriverName, packages: readonly string[]): System[] =>
  ['always', 'everysec'].map((durability) => ({
    ...remote,
    driver,
    durability,
    synced: durability === 'always',
    server: redis,
    packages,
  }));

const onPostgres = (driver: DriverName, packages: readonly string[]): System => ({
  ...remote,
  driver,
  durability: 'synchronous_commit on',
  synced: true,
  server: postgres,
  packages,
});

export const serverPeers: readonly System[] = [
  ...onRedis('redis-list', []),
  ...onRedis('bullmq', ['bullmq', 'ioredis']),
  onPostgres('pg-boss', ['pg-boss', 'pg']),
  onPostgres('graphile-worker', ['graphile-worker', 'pg']),
  ...[natsSynced, natsUnsynced].map((durability) => ({
    ...remote,
    driver: 'nats-jetstream' as const,
    durability,
    synced: durability === natsSynced,
    server: nats,
    packages: ['@nats-io/jetstream', '@nats-io/transport-node'],
  })),
];

export const systemName = ({ driver, durability, placement }: System): string =>
  `${driver} ${placement}, ${durability}`;
