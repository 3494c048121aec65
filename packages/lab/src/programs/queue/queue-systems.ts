/** The kinds of queues that the programs `queue` and `topic` compare. */
import type { SystemInfo } from '@shardlab/contract';

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

/** Whether all instances take messages from one table in one file, whose order holds over all of them. */
export const sharesOneTable = (system: string): boolean => system !== 'sharded';
