/** Our engine inside the client's process: one instance, its sessions beside it. Sharded and unsharded queues alike. */
import { openInstance, type QueueKind } from '@shardlab/engine';
import type { OpenClient } from './driver.ts';
import { consumeBySessions, produceBySession } from './shardlab-sessions.ts';

const queue = 'bench';

export function openEmbedded(kind: QueueKind): OpenClient {
  return async ({ dir, process, creates, emulatedSyncMs }) => {
    const instance = await openInstance({ dir, instance: process, emulatedSyncMs });
    const known = instance.queues().some(({ name }) => name === queue);
    if (creates && !known) await instance.createQueue({ name: queue, kind });
    return {
      // The engine reads the pragma back at every opening and refuses to serve if SQLite did not take it.
      stated: `${instance.queue(queue).durability}: PRAGMA synchronous = 2, asserted at opening`,
      async openProducer() {
        return produceBySession(instance.openSession(), queue);
      },
      async consume(options) {
        return consumeBySessions(() => instance.openSession(), queue, options);
      },
      async depth() {
        const { ready, held } = instance.queue(queue);
        return ready + held;
      },
      close: () => instance.close(),
    };
  };
}
