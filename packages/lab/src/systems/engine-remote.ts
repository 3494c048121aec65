/** Our engine in separate processes, reached over sockets; sessions are spread over the instances. */
import { connect } from '@shardlab/engine';
import type { OpenClient } from './driver/driver.ts';
import { statedOf } from './engine-embedded.ts';
import {
  consumeBySessions,
  createQueues,
  type EngineQueue,
  produceBySession,
  queueName,
  subscriberName,
  tracedQueueOf,
} from './engine-sessions.ts';

/** Messages that a session holds ahead of its small transactions at most; of larger ones it holds one transaction ahead. */
const aheadMax = 64;

/** Sessions that prefetch request the messages of their next transaction together with a commit. */
export function openRemote(spec: EngineQueue, sessions: 'plain' | 'prefetching'): OpenClient {
  return async (options) => {
    const { endpoints, createsQueue, subscribers, queues = 1 } = options;
    const instances = await Promise.all(endpoints.map((path) => connect({ path })));
    const [first] = instances as [(typeof instances)[number]];
    if (createsQueue) await createQueues(first, spec, options);
    let producers = 0;
    return {
      stated: statedOf((await first.queue(queueName(0))).durability),
      // With several instances a message can be forwarded, and end elsewhere.
      ...(instances.length === 1 ? tracedQueueOf(spec, first, subscribers) : {}),
      async openProducer() {
        const producer = producers++;
        const session = instances[producer % instances.length]!.openSession();
        return produceBySession(session, queueName(producer % queues), spec);
      },
      async consume(given) {
        const prefetch = sessions === 'prefetching' ? Math.max(aheadMax, given.operations) : 0;
        const openSession = (consumer: number) =>
          instances[consumer % instances.length]!.openSession({ prefetch });
        return consumeBySessions({ ...given, openSession, spec, queues, subscribers });
      },
      async depth(subscriber) {
        if (subscribers > 0) {
          const all = await Promise.all(instances.map((instance) => instance.subscribers(queueName(0))));
          const named = all.flat().filter(({ name }) => name === subscriberName(subscriber));
          return named.reduce((sum, { backlog }) => sum + backlog, 0);
        }
        const names = Array.from({ length: queues }, (_, index) => queueName(index));
        const infos = await Promise.all(
          instances.flatMap((instance) => names.map((name) => instance.queue(name))),
        );
        return infos.reduce((sum, { ready, held }) => sum + ready + held, 0);
      },
      async close() {
        await Promise.all(instances.map((instance) => instance.close()));
      },
    };
  };
}
