/** Queues in the order in which they were made, each followed by its exception queue. */
import type { QueueInfo } from '@shardlab/contract';

export interface ListedQueue {
  queue: QueueInfo;
  /** Of the queue before it. */
  isException: boolean;
}

export function withExceptionQueues(queues: readonly QueueInfo[]): ListedQueue[] {
  const byName = new Map(queues.map((queue) => [queue.name, queue]));
  const owned = new Set(queues.flatMap(({ exceptionQueue }) => exceptionQueue ?? []));
  return queues
    .filter(({ name }) => !owned.has(name))
    .flatMap((queue) => {
      const exceptions = queue.exceptionQueue === null ? undefined : byName.get(queue.exceptionQueue);
      const own: ListedQueue = { queue, isException: false };
      return exceptions === undefined ? [own] : [own, { queue: exceptions, isException: true }];
    });
}
