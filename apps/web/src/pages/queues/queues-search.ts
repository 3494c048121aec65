/** The query string of the queues page: the selected queue, subscriber and tab. */
export interface QueuesSearch {
  queue?: string;
  /** The subscriber of a topic as whom the page browses and dequeues. */
  subscriber?: string;
  /** Left out for the messages tab. */
  tab?: 'monitor' | 'trace';
  /** The id of the message whose life the trace tab shows: a text, since as a number 100.10 would be 100.1. */
  message?: string;
}

export function readQueuesSearch({ queue, subscriber, tab, message }: Record<string, unknown>): QueuesSearch {
  return {
    ...(typeof queue === 'string' ? { queue } : {}),
    ...(typeof subscriber === 'string' ? { subscriber } : {}),
    ...(tab === 'monitor' || tab === 'trace' ? { tab } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
