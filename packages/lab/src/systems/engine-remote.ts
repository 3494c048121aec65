/** Our engine in separate processes, reached over sockets; sessions are spread over the instances. */
import { connect } from '@shardlab/engine';
import type { OpenClient } from './driver.ts';
import { statedOf } from './engine-embedded.ts';
import {
  consumeBySessions,
  createQueues,
  type EngineQueue,
  produceBySession,
  queueName,
} from './engine-sessions.ts';

export function openRemote(spec: EngineQueue): OpenClient {
  return async (options) => {
    const { endpoints, createsQueue, subscribers, queues = 1 } = options;
    const instances = await Promise.all(endpoints.map((path) => connect({ path })));
    const [first] = instances as [(typeof instances)[number]];
    if (createsQueue) await createQueues(first, spec, options);
    let producers = 0;
    return {
      stated: statedOf((await first.queue(queueName(0))).durability),
      async openProducer() {
        const producer = producers++;
        const session = instances[producer % instances.length]!.openSession();
        return produceBySession(session, queueName(producer % queues), spec);
      },
      async consume(given) {
        const openSession = (consumer: number) => instances[consumer % instances.length]!.openSession();
        return consumeBySessions({ ...given, openSession, spec, queues, subscribers });
      },
      async depth() {
        const names = Array.from({ length: queues }, (_, no) => queueName(no));
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
