/** Our engine inside the client's process, with one instance: its kinds of queues, and topics. */
import { openInstance } from '@shardlab/engine';
import type { OpenClient } from './driver/driver.ts';
import {
  consumeBySessions,
  createQueues,
  type EngineQueue,
  produceBySession,
  queueName,
  subscriberName,
  tracedQueueOf,
} from './engine-sessions.ts';

export function openEmbedded(spec: EngineQueue): OpenClient {
  return async (options) => {
    const { dir, process, createsQueue, subscribers, emulatedSyncMs, queues = 1 } = options;
    const instance = await openInstance({ dir, instance: process, emulatedSyncMs });
    if (createsQueue) await createQueues(instance, spec, options);
    let producers = 0;
    return {
      stated: statedOf(instance.queue(queueName(0)).durability),
      waits: instance.waits,
      written: () => ({ syncs: instance.stats().syncs }),
      ...tracedQueueOf(spec, instance, subscribers),
      async openProducer() {
        return produceBySession(instance.openSession(), queueName(producers++ % queues), spec);
      },
      async consume(given) {
        const openSession = () => instance.openSession();
        return consumeBySessions({ ...given, openSession, spec, queues, subscribers });
      },
      async depth(subscriber) {
        if (subscribers > 0) {
          const name = subscriberName(subscriber);
          return instance.subscribers(queueName(0)).find((each) => each.name === name)!.backlog;
        }
        let depth = 0;
        for (let index = 0; index < queues; index += 1) {
          const { ready, held } = instance.queue(queueName(index));
          depth += ready + held;
        }
        return depth;
      },
      close: () => instance.close(),
    };
  };
}

/** The engine reads the pragma back at every opening and refuses to serve if SQLite did not apply it. */
export function statedOf(durability: string): string {
  return durability === 'memory' ? 'memory' : `${durability}: PRAGMA synchronous = 2, asserted at opening`;
}
