/** Widely used queues on other stores, as systems of the lab. Redis lists are in `systems.ts`. */

import type { ServerKind } from './driver/server.ts';
import { natsServers, natsSynced, natsUnsynced } from './nats-servers.ts';
import { postgres } from './peers/postgres-server.ts';
import { redis } from './redis-server.ts';
import type { System } from './system.ts';

type Peer = Pick<System, 'info' | 'driver' | 'durability' | 'synced' | 'packages'>;

const on =
  (server: ServerKind | null) =>
  (peer: Peer): System => ({ ...peer, server, order: 'none', queues: 'one', instances: 1 });

const nats = natsServers(1);

const jetstream: Pick<Peer, 'driver' | 'packages'> = {
  driver: 'nats-jetstream',
  packages: ['@nats-io/jetstream', '@nats-io/transport-node'],
};

const bullmqModes = [
  { durability: 'always', id: 'bullmq-log-always', synced: true, words: 'log synced always' },
  { durability: 'everysec', id: 'bullmq-log-second', synced: false, words: 'log synced every second' },
] as const;

const plainjobModes = [
  { durability: 'FULL', id: 'plainjob', synced: true, words: 'synced' },
  { durability: 'NORMAL', id: 'plainjob-not-synced', synced: false, words: 'not synced' },
] as const;

const postgresDurability = 'synchronous_commit on';

export const peerSystems: readonly System[] = [
  ...plainjobModes.map(({ words, id, ...mode }) =>
    on(null)({
      ...mode,
      info: {
        id,
        title: `plainjob, ${words}`,
        about: `plainjob, a job queue in SQLite in the client's process, with synchronous = ${mode.durability}: one job a call`,
      },
      driver: 'plainjob',
      packages: [],
    }),
  ),
  ...bullmqModes.map(({ words, id, ...mode }) =>
    on(redis)({
      ...mode,
      info: {
        id,
        title: `BullMQ, ${words}`,
        about: 'BullMQ on Redis: its bulk call, and its worker, one job a call',
      },
      driver: 'bullmq',
      packages: ['bullmq', 'ioredis'],
    }),
  ),
  on(postgres)({
    info: {
      id: 'postgres-skip-locked',
      title: 'PostgreSQL, SKIP LOCKED',
      about:
        'A job table in PostgreSQL as one writes it by hand: rows that are locked with SKIP LOCKED, then deleted',
    },
    driver: 'postgres-skip-locked',
    durability: postgresDurability,
    synced: true,
    packages: ['pg'],
  }),
  on(postgres)({
    info: {
      id: 'pg-boss',
      title: 'pg-boss',
      about: 'pg-boss on PostgreSQL: its calls, which insert, fetch and complete batches',
    },
    driver: 'pg-boss',
    durability: postgresDurability,
    synced: true,
    packages: ['pg-boss', 'pg'],
  }),
  on(postgres)({
    info: {
      id: 'graphile-worker',
      title: 'graphile-worker',
      about:
        'graphile-worker on PostgreSQL: its runner, with its local queue and batched completion for larger transactions',
    },
    driver: 'graphile-worker',
    durability: postgresDurability,
    synced: true,
    packages: ['graphile-worker', 'pg'],
  }),
  on(nats)({
    ...jetstream,
    info: {
      id: 'nats-jetstream',
      title: 'NATS JetStream',
      about: 'A work-queue stream in files, synced every two minutes, over a loopback port',
    },
    durability: natsUnsynced,
    synced: false,
  }),
  on(nats)({
    ...jetstream,
    info: {
      id: 'nats-jetstream-synced',
      title: 'NATS JetStream, synced',
      about: 'A work-queue stream in files; each message is synced before it is acknowledged',
    },
    durability: natsSynced,
    synced: true,
  }),
];
