/** Our engine inside the client's process, with one instance. Sharded and unsharded, queues and topics. */
import { openInstance, type QueueKind } from '@shardlab/engine';
import type { OpenClient } from './driver.ts';
import {
  consumeBySessions,
  createQueue,
  produceBySession,
  queueName,
  subscriberName,
} from './shardlab-sessions.ts';

export function openEmbedded(kind: QueueKind): OpenClient {
  return async ({ dir, process, createsQueue, subscribers, emulatedSyncMs }) => {
    const instance = await openInstance({ dir, instance: process, emulatedSyncMs });
    if (createsQueue) await createQueue(instance, { kind, subscribers });
    return {
      // The engine reads the pragma back at every opening and refuses to serve if SQLite did not apply it.
      stated: `${instance.queue(queueName).durability}: PRAGMA synchronous = 2, asserted at opening`,
      async openProducer() {
        return produceBySession(instance.openSession());
      },
      async consume(options) {
        return consumeBySessions({ ...options, openSession: () => instance.openSession(), subscribers });
      },
      async depth(subscriber) {
        if (subscribers > 0) {
          const name = subscriberName(subscriber);
          return instance.subscribers(queueName).find((each) => each.name === name)!.backlog;
        }
        const { ready, held } = instance.queue(queueName);
        return ready + held;
      },
      close: () => instance.close(),
    };
  };
}
