/** The queues of simulated instances. */
import type { QueueSpec } from '../../src/api/queue.ts';
import { defaultQueueSettings } from '../../src/api/queue-settings.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { SubscriberRow } from '../../src/model/subscriber-row.ts';

function queueRow(queueId: number, spec: QueueSpec, exceptionQueueId: number | null = null): QueueRow {
  return {
    ...defaultQueueSettings,
    attemptsMax: null,
    ...spec,
    queueId,
    exceptionQueueId,
    enqueueEnabled: true,
    dequeueEnabled: true,
  };
}

export const orders = queueRow(1, { name: 'orders', shards: 2 });
export const events = queueRow(2, { name: 'events', durability: 'relaxed', forwarding: false });
export const jobs = queueRow(3, { name: 'jobs', attemptsMax: 3, retryDelayMs: 40 }, 4);
export const failures = queueRow(4, { name: 'jobs.exceptions', forwarding: false });
export const alerts = queueRow(5, { name: 'alerts', priorities: true });
export const simulatedQueues = [orders, events, jobs, failures, alerts];

/** A topic and its subscribers. */
export const news = queueRow(6, { name: 'news', type: 'topic', forwarding: false });
export const newsSubscribers: readonly SubscriberRow[] = [
  { id: 1, name: 'mail', durable: true },
  { id: 2, name: 'search', durable: true },
];
