/** The systems that the lab's programs compare: each is a driver, with a server if it needs one. */
import type { SystemInfo } from '@shardlab/contract';
import type { DriverName } from './drivers.ts';
import { engineServer } from './engine-server.ts';
import { natsServers, natsSynced, natsUnsynced } from './nats-servers.ts';
import { peerSystems } from './peer-systems.ts';
import { queueSystems } from './queue-systems.ts';
import { type RedisMode, redis } from './redis-server.ts';
import { restServer, validatingServer } from './rest-server.ts';
import type { System } from './system.ts';

type Told = Partial<Omit<System, 'info'>> & Omit<SystemInfo, 'id'>;

/** One of our queues in the client's process. */
const embedded = (driver: DriverName, { title, about, ...rest }: Told, id: string = driver): System => ({
  info: { id, title, about },
  driver,
  server: null,
  durability: '',
  synced: true,
  order: 'consumer',
  queues: 'several',
  packages: [],
  instances: 1,
  ...rest,
});

/** One of our queues in a process of its own. */
const remote = (driver: DriverName, told: Told, id: string = driver): System => ({
  ...embedded(driver, told, id),
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

const redisSystems = redisModes.flatMap(({ mode, id, title, about }): System[] => {
  const common = { server: redis, durability: mode, synced: mode === 'always' };
  return [
    embedded(
      'redis-plain',
      { ...common, title, about: `${about}. A consumer pops messages: at most once`, atMostOnce: true },
      id,
    ),
    embedded(
      'redis-reliable',
      {
        ...common,
        title: `${title}, reliable`,
        about: `${about}. A consumer moves messages to a list of its own (LMOVE) and then removes them: at least once`,
      },
      `${id}-reliable`,
    ),
  ];
});

const jetStreamSystems = ([1, 3] as const).flatMap((servers) =>
  [natsUnsynced, natsSynced].map((durability): System => {
    const synced = durability === natsSynced;
    const where = servers === 1 ? 'one NATS server' : 'three NATS servers, each message on all of them';
    return {
      ...embedded(
        'jetstream',
        {
          title: `Sessions on JetStream, ${servers === 1 ? 'one server' : 'three servers'}, ${synced ? 'synced' : 'not synced'}`,
          about: `The engine's sessions on ${where}, ${synced ? 'synced before they acknowledge' : 'synced every two minutes'}`,
          synced,
          durability,
        },
        `jetstream-r${servers}${synced ? '-synced' : ''}`,
      ),
      server: natsServers(servers),
    };
  }),
);

/** Bounds, beside which trials are measured: figures of the comparison are named `<probe>PerSec` and `<probe>Ratio`. */
export const loops = [
  {
    driver: 'log-loop',
    probe: 'logLoop',
    title: 'Bound: a log alone (L)',
    about:
      'No queue, a bound: what all sessions commit together is one record of a log, written and synced on their thread; nothing reads it',
  },
  {
    driver: 'group-loop',
    probe: 'groupLoop',
    title: 'Bound: groups in SQLite',
    about:
      'No queue, a bound: what all sessions commit together is one row of a table, and one for what was consumed, in a transaction of SQLite',
  },
] as const satisfies readonly (Omit<SystemInfo, 'id'> & { driver: DriverName; probe: string })[];

export const systems: readonly System[] = [
  embedded('null', {
    title: 'Null system',
    about: 'Arrays in memory, without any queue: what the load generator and its checks cost',
    synced: false,
  }),
  ...loops.map(({ driver, title, about }) =>
    embedded(driver, { title, about, order: 'process', queues: 'one' }),
  ),
  embedded('sharded', { ...sharded, order: 'process' }),
  embedded(
    'sharded',
    {
      title: 'Sharded queue, two instances',
      about: 'The sharded queue on two instances, each with its sessions in a process of its own',
      order: 'process',
      instances: 2,
    },
    'sharded-2',
  ),
  remote('sharded-remote', {
    title: 'Sharded queue, remote',
    about: 'The sharded queue in a process of its own, reached over a Unix socket',
  }),
  remote(
    'sharded-remote',
    {
      title: 'Sharded queue, remote, two instances',
      about: 'The sharded queue on two instances in processes of their own, reached over Unix sockets',
      instances: 2,
    },
    'sharded-remote-2',
  ),
  remote('sharded-prefetch', {
    title: 'Sharded queue, remote, prefetching',
    about:
      'The sharded queue in a process of its own, reached over a Unix socket by sessions that request their next messages with a commit',
  }),
  embedded('unsharded', { ...unsharded, order: 'queue' }),
  embedded('unsharded-grouped', { ...grouped, order: 'queue' }),
  embedded('buffered', {
    title: 'Buffered queue',
    about: 'Messages in memory, visible and consumed at once, with flow control',
    synced: false,
  }),
  remote('buffered-remote', {
    title: 'Buffered queue, remote',
    about: 'The buffered queue in a process of its own, reached over a Unix socket',
    synced: false,
  }),
  ...jetStreamSystems,
  ...redisSystems,
  ...peerSystems,
];

const overHttp = (driver: DriverName, told: Told, id: string): System => ({
  ...embedded(driver, told, id),
  server: restServer,
});
/** The server of this repository, and the part of it that is no queue; programs that load a system for a time can run them. */
export const restSystems: readonly System[] = [
  {
    ...overHttp(
      'rest-validating',
      {
        title: 'REST, validation only',
        about: "The server's HTTP with the enqueue route's description, which keeps nothing of a message",
        synced: false,
      },
      'rest-validating',
    ),
    server: validatingServer,
  },
  overHttp(
    'rest',
    { title: 'REST', about: 'The sharded queue on one instance in the process of the server, over HTTP' },
    'rest',
  ),
  overHttp(
    'rest',
    {
      title: 'REST, two instances',
      about: 'The sharded queue on two instances in processes of their own, behind the server, over HTTP',
      instances: 2,
    },
    'rest-2',
  ),
];

/** Throws a RangeError for an unknown one. */
export function systemOf(id: string): System {
  const system = [...systems, ...restSystems].find(({ info }) => info.id === id);
  if (system === undefined) throw new RangeError(`there is no system ${id}`);
  return system;
}
