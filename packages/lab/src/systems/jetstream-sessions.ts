/** The engine's sessions on NATS JetStream, with as many replicas as there are servers. */
import { openJetStream } from '@shardlab/jetstream';
import type { OpenClient } from './driver/driver.ts';
import { settledCount } from './driver/settled-count.ts';
import {
  consumeBySessions,
  createQueues,
  produceBySession,
  queueName,
  subscriberName,
} from './engine-sessions.ts';
import { natsSynced } from './nats-servers.ts';

export const open: OpenClient = async (options) => {
  const { endpoints, createsQueue, durability, subscribers, queues = 1 } = options;
  const synced = durability === natsSynced;
  const replicas = endpoints.length === 3 ? 3 : 1;
  const store = await openJetStream({
    servers: [...endpoints],
    replicas,
    sync: synced ? 'always' : 'interval',
  });
  const spec = { kind: 'sharded', durability: synced ? 'durable' : 'relaxed' } as const;
  if (createsQueue) await createQueues(store, spec, options);
  let producers = 0;
  return {
    stated: `replicas ${replicas}, ${durability}`,
    async openProducer() {
      return produceBySession(store.openSession(), queueName(producers++ % queues), spec);
    },
    async consume(given) {
      return consumeBySessions({
        ...given,
        openSession: () => store.openSession(),
        spec,
        queues,
        subscribers,
      });
    },
    depth(subscriber) {
      return settledCount(async () => {
        if (subscribers > 0) {
          const name = subscriberName(subscriber);
          return (await store.subscribers(queueName(0))).find((each) => each.name === name)!.backlog;
        }
        const infos = await Promise.all(
          Array.from({ length: queues }, (_, number) => store.queue(queueName(number))),
        );
        return infos.reduce((sum, { enqueued, consumed }) => sum + enqueued - consumed, 0);
      });
    },
    close: () => store.close(),
  };
};
