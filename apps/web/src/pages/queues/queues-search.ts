/** The query string of the queues page: the selected queue, subscriber and tab. */
export interface QueuesSearch {
  queue?: string;
  /** The subscriber of a topic as whom the page browses and dequeues. */
  subscriber?: string;
  /** Left out for the messages tab. */
  tab?: 'monitor';
}

export function readQueuesSearch({ queue, subscriber, tab }: Record<string, unknown>): QueuesSearch {
  return {
    ...(typeof queue === 'string' ? { queue } : {}),
    ...(typeof subscriber === 'string' ? { subscriber } : {}),
    ...(tab === 'monitor' ? { tab } : {}),
  };
}
