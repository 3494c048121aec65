/** The system that the programs about listening measure. */
import type { SystemInfo } from '@shardlab/contract';

export const sharedTopic: SystemInfo = {
  id: 'shared-topic',
  title: 'Shared topic',
  about: 'A sharded topic whose sessions are on threads of its process, with its metadata in shared memory',
};
