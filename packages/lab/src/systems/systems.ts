/** The systems that the lab's programs compare: each is a driver, with a server if it needs one. */
import type { SystemInfo } from '@shardlab/contract';
import { queueSystems } from '../programs/queue/queue-systems.ts';
import type { DriverName } from './drivers.ts';
import { engineServer } from './engine-server.ts';
import { type RedisMode, redis } from './redis-server.ts';
import type { ServerKind } from './server.ts';

export interface System {
  info: SystemInfo;
  driver: DriverName;
  server: ServerKind | null;
  /** How the server is told to keep messages; empty if that is the driver's part. */
  durability: string;
}

const embedded = (driver: DriverName, info: Omit<SystemInfo, 'id'>): System => ({
  info: { id: driver, ...info },
  driver,
  server: null,
  durability: '',
});

const remote = (driver: DriverName, info: Omit<SystemInfo, 'id'>): System => ({
  ...embedded(driver, info),
  server: engineServer,
});

const [sharded, unsharded, grouped] = queueSystems;

const redisModes: readonly { mode: RedisMode; id: string; title: string; about: string }[] = [
  {
    mode: 'snapshot',
    id: 'redis-snapshot',
    title: 'Redis, snapshots',
    about: 'A Redis list over a Unix socket; all data is written to a file from time to time',
  },
  {
    mode: 'everysec',
    id: 'redis-log-second',
    title: 'Redis, log synced every second',
    about: 'A Redis list over a Unix socket; each write is appended to a file that is synced every second',
  },
  {
    mode: 'always',
    id: 'redis-log-always',
    title: 'Redis, log synced always',
    about: 'A Redis list over a Unix socket; each write is synced before it is acknowledged',
  },
];

const redisSystems = redisModes.flatMap(({ mode, id, title, about }): System[] => [
  {
    info: { id, title, about: `${about}. A consumer pops messages: at most once` },
    driver: 'redis-plain',
    server: redis,
    durability: mode,
  },
  {
    info: {
      id: `${id}-reliable`,
      title: `${title}, reliable`,
      about: `${about}. A consumer moves messages to a list of its own (LMOVE) and then removes them: at least once`,
    },
    driver: 'redis-reliable',
    server: redis,
    durability: mode,
  },
]);

export const systems: readonly System[] = [
  embedded('null', {
    title: 'Null system',
    about: 'Arrays in memory, without any queue: what the load generator and its checks cost',
  }),
  embedded('sharded', sharded),
  remote('sharded-remote', {
    title: 'Sharded queue, remote',
    about: 'The sharded queue in a process of its own, reached over a Unix socket',
  }),
  embedded('unsharded', unsharded),
  embedded('unsharded-grouped', grouped),
  embedded('buffered', {
    title: 'Buffered queue',
    about: 'Messages in memory, visible and consumed at once, with flow control',
  }),
  remote('buffered-remote', {
    title: 'Buffered queue, remote',
    about: 'The buffered queue in a process of its own, reached over a Unix socket',
  }),
  ...redisSystems,
];

/** Throws a RangeError for an unknown one. */
export function systemOf(id: string): System {
  const system = systems.find(({ info }) => info.id === id);
  if (system === undefined) throw new RangeError(`there is no system ${id}`);
  return system;
}

/** What the named systems need and this machine lacks, a sentence for each. */
export const missingServers = (ids: readonly string[]): string[] => missingServersOf(ids.map(systemOf));

export function missingServersOf(named: readonly System[]): string[] {
  const lacking = Map.groupBy(named, ({ server }) => server);
  return [...lacking].flatMap(([server, those]) =>
    server === null || server.version() !== null
      ? []
      : [
          `${those.map(({ info }) => info.id).join(', ')} ${those.length === 1 ? 'needs' : 'need'} ${server.aptPackage}; Debian: apt-get install ${server.aptPackage}`,
        ],
  );
}
