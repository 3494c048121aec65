/** The kinds of queues that the programs `queue` and `topic` compare. */
import type { SystemInfo } from '@shardlab/contract';
import type { QueueKind } from '@shardlab/engine';

export const queueSystems = [
  {
    id: 'sharded',
    title: 'Sharded queue',
    about: 'A log per shard, one or more shards on each instance, written by group commits',
  },
  {
    id: 'unsharded',
    title: 'Unsharded queue',
    about: 'One table with a global index in one file, to which each session commits for itself',
  },
  {
    id: 'unsharded-grouped',
    title: 'Unsharded queue, grouped',
    about: 'The same table with one elected writer that commits the work of all sessions together',
  },
] as const satisfies readonly SystemInfo[];

/**
 * As a topic, an unsharded queue is one queue for each subscriber, and a copy of every message in each, as applications do with
 * job tables. Beside it stand topics that store a message once.
 */
export const topicSystems = [
  ...queueSystems,
  {
    id: 'unsharded-once',
    title: 'Unsharded topic, stored once',
    about:
      'One table that has each message once, and an index with a row for each subscriber; each session commits for itself',
  },
  {
    id: 'unsharded-grouped-once',
    title: 'Unsharded topic, stored once, grouped',
    about: 'The same tables with one elected writer that commits the work of all sessions together',
  },
] as const satisfies readonly SystemInfo[];

const kinds: Readonly<Record<(typeof topicSystems)[number]['id'], QueueKind>> = {
  sharded: 'sharded',
  unsharded: 'unsharded',
  'unsharded-grouped': 'unsharded-grouped',
  'unsharded-once': 'unsharded',
  'unsharded-grouped-once': 'unsharded-grouped',
};

/** The kind of its queues or topics. */
export const kindOf = (system: string): QueueKind => kinds[system as keyof typeof kinds];

/** Whether each session writes under the lock of the file, for itself. */
export const hasWriteLock = (system: string): boolean => kindOf(system) === 'unsharded';

/** Whether it stores a message of a topic once for each subscriber. */
export const storesCopies = (system: string): boolean =>
  queueSystems.some(({ id }) => id === system) && kindOf(system) !== 'sharded';

/** Whether all instances take messages from one table in one file, whose order holds over all of them. */
export const sharesOneTable = (system: string): boolean => system !== 'sharded';
