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
] as const satisfies readonly SystemInfo[];
