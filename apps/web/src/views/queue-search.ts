/** What the queues page shows, as its address has it. */
export interface QueueSearch {
  queue?: string;
  /** Of a topic: as whom it is browsed and dequeued. */
  subscriber?: string;
  /** Messages, unless it says otherwise. */
  tab?: 'monitor';
}

export function readQueueSearch({ queue, subscriber, tab }: Record<string, unknown>): QueueSearch {
  return {
    ...(typeof queue === 'string' ? { queue } : {}),
    ...(typeof subscriber === 'string' ? { subscriber } : {}),
    ...(tab === 'monitor' ? { tab } : {}),
  };
}
