/** How our sessions enqueue and dequeue on the bench: the same calls, embedded or remote. */
import type { Message, Session } from '@shardlab/engine';
import type { ConsumeOptions, Consumption, Producer } from './driver.ts';
import { startPulling } from './pull-consumers.ts';

/** How long a dequeue waits before the session commits what it has and asks again. */
const waitMs = 100;

type ProducerSession = Pick<Session, 'enqueue' | 'commit'>;
type ConsumerSession = Pick<Session, 'commit' | 'close'> & {
  dequeue(queue: string, options: { max: number; waitMs: number; signal: AbortSignal }): Promise<Message[]>;
};

export function produceBySession(session: ProducerSession, queue: string): Producer {
  return {
    async send(payloads) {
      for (const payload of payloads) session.enqueue(queue, { payload });
      await session.commit();
    },
  };
}

/** Each consumer is a session that collects the operations of a transaction, or what there is, and commits. */
export function consumeBySessions(
  openSession: () => ConsumerSession,
  queue: string,
  { consumers, operations, deliveries }: ConsumeOptions,
): Consumption {
  const sessions = Array.from({ length: consumers }, openSession);
  const pulling = startPulling({
    consumers,
    pauseMs: 0,
    async turn(consumer, signal) {
      const session = sessions[consumer]!;
      const taken: ReturnType<typeof deliveries.handedOut>[] = [];
      while (taken.length < operations) {
        const messages = await session.dequeue(queue, { max: operations - taken.length, waitMs, signal });
        if (messages.length === 0) break;
        for (const { payload } of messages) taken.push(deliveries.handedOut(payload, consumer));
      }
      if (taken.length === 0) return false;
      await session.commit();
      deliveries.consumed(taken);
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
