/** How our sessions enqueue and dequeue: the same calls for embedded and remote sessions, queues and topics. */
import type { Instance, QueueKind, Session } from '@shardlab/engine';
import type { ConsumeOptions, Consumption, Delivery, Producer } from './driver.ts';
import { startPulling } from './pull-consumers.ts';

export const queueName = 'bench';
export const subscriberName = (no: number) => `subscriber-${no}`;

/** How long a dequeue waits before the session commits what it has and dequeues again. */
const waitMs = 100;

/** Creates the queue, or the topic with its subscribers. */
export async function createQueue(
  instance: Pick<Instance, 'createQueue' | 'subscribe'>,
  { kind, subscribers }: { kind: QueueKind; subscribers: number },
): Promise<void> {
  await instance.createQueue({ name: queueName, kind, type: subscribers > 0 ? 'topic' : 'queue' });
  for (let no = 0; no < subscribers; no += 1) {
    await instance.subscribe(queueName, { name: subscriberName(no) });
  }
}

export function produceBySession(session: Session): Producer {
  return {
    async send(payloads) {
      for (const payload of payloads) session.enqueue(queueName, { payload });
      await session.commit();
    },
  };
}

/** Each consumer is a session that collects the messages of a transaction, or as many as there are, and commits. */
export function consumeBySessions(
  options: ConsumeOptions & { openSession: (consumer: number) => Session; subscribers: number },
): Consumption {
  const { consumers, operations, deliveries, openSession, subscribers } = options;
  const sessions = Array.from({ length: consumers }, (_, consumer) => openSession(consumer));
  const whose = sessions.map((_, consumer) =>
    subscribers > 0 ? { subscriber: subscriberName(consumer % subscribers) } : {},
  );
  const pulling = startPulling({
    consumers,
    pauseMs: 0,
    async turn(consumer, signal) {
      const session = sessions[consumer]!;
      const taken: Delivery[] = [];
      while (taken.length < operations) {
        const max = operations - taken.length;
        const messages = await session.dequeue(queueName, { ...whose[consumer], max, waitMs, signal });
        if (messages.length === 0) break;
        for (const { payload } of messages) taken.push(deliveries.delivered(payload, consumer));
      }
      if (taken.length === 0) return false;
      await session.commit();
      deliveries.consumed(taken, consumer);
      return true;
    },
  });
  return {
    async stop() {
      await pulling.stop();
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}
