/** How our sessions enqueue and dequeue on the bench: the same calls, embedded or remote, of a queue or a topic. */
import type { Instance, QueueKind, Session } from '@shardlab/engine';
import type { ConsumeOptions, Consumption, Delivery, Producer } from './driver.ts';
import { startPulling } from './pull-consumers.ts';

export const queueName = 'bench';
export const subscriberName = (no: number) => `subscriber-${no}`;

/** How long a dequeue waits before the session commits what it has and asks again. */
const waitMs = 100;

/** The queue, or the topic with its subscribers. */
export async function makeQueue(
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

/** Each consumer is a session that collects the operations of a transaction, or what there is, and commits. */
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
        for (const { payload } of messages) taken.push(deliveries.handedOut(payload, consumer));
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
