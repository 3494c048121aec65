/** The order of the queue list: as created, each queue followed by its exception queue. */
import type { QueueInfo } from '@shardlab/contract';

export interface ListedQueue {
  queue: QueueInfo;
  /** Whether it is the exception queue of the entry before it. */
  isException: boolean;
}

export function withExceptionQueues(queues: readonly QueueInfo[]): ListedQueue[] {
  const byName = new Map(queues.map((queue) => [queue.name, queue]));
  const exceptionQueues = new Set(queues.flatMap(({ exceptionQueue }) => exceptionQueue ?? []));
  return queues
    .filter(({ name }) => !exceptionQueues.has(name))
    .flatMap((queue) => {
      const exceptions = queue.exceptionQueue === null ? undefined : byName.get(queue.exceptionQueue);
      const entry: ListedQueue = { queue, isException: false };
      return exceptions === undefined ? [entry] : [entry, { queue: exceptions, isException: true }];
    });
}
