/** Our engine in separate processes, reached over sockets; sessions are spread over the instances. */
import { connect } from '@shardlab/engine';
import type { OpenClient } from './driver.ts';
import { consumeBySessions, createQueue, produceBySession, queueName } from './shardlab-sessions.ts';

export const open: OpenClient = async ({ endpoints, createsQueue, subscribers }) => {
  const instances = await Promise.all(endpoints.map((path) => connect({ path })));
  const [first] = instances as [(typeof instances)[number]];
  if (createsQueue) await createQueue(first, { kind: 'sharded', subscribers });
  let producers = 0;
  return {
    stated: `${(await first.queue(queueName)).durability}: PRAGMA synchronous = 2, asserted at opening`,
    async openProducer() {
      producers += 1;
      return produceBySession(instances[producers % instances.length]!.openSession());
    },
    async consume(options) {
      const openSession = (consumer: number) => instances[consumer % instances.length]!.openSession();
      return consumeBySessions({ ...options, openSession, subscribers });
    },
    async depth() {
      const queues = await Promise.all(instances.map((instance) => instance.queue(queueName)));
      return queues.reduce((sum, { ready, held }) => sum + ready + held, 0);
    },
    async close() {
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
};
