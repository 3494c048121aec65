/** What the queues page shows, as its address has it. */
export interface QueueSearch {
  queue?: string;
  /** Of a topic: as whom it is browsed and dequeued. */
  subscriber?: string;
}

export function readQueueSearch({ queue, subscriber }: Record<string, unknown>): QueueSearch {
  return {
    ...(typeof queue === 'string' ? { queue } : {}),
    ...(typeof subscriber === 'string' ? { subscriber } : {}),
  };
}
