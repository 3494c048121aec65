/** How sessions of our engine enqueue and dequeue: the same calls for embedded and remote ones, queues and topics. */
import { type Instance, type Message, QueueError, type QueueSpec, type Session } from '@shardlab/engine';
import { createMonotonicClock } from '../meters/clock.ts';
import { serverCall } from '../meters/load-waits.ts';
import type { TraceReader } from '../meters/trace-sampler.ts';
import {
  type ClientOptions,
  type ConsumeOptions,
  type Consumption,
  type Delivery,
  EnqueueRefused,
  type Producer,
  type QueueClient,
} from './driver/driver.ts';
import { startPulling } from './driver/pull-consumers.ts';

/** Which of the engine's queues: its kind, how it keeps messages, when they are visible. */
export type EngineQueue = Pick<QueueSpec, 'kind' | 'durability' | 'visibility'>;

export const queueName = (index: number) => `queue-${index}`;
export const subscriberName = (index: number) => `subscriber-${index}`;

/** How long a dequeue waits before the session commits what it has and dequeues again. */
const waitMs = 100;

/** Creates the queues, or the topic with its subscribers. */
export async function createQueues(
  instance: Pick<Instance, 'createQueue' | 'subscribe'>,
  spec: EngineQueue,
  { queues = 1, subscribers, messagesMax }: Pick<ClientOptions, 'queues' | 'subscribers' | 'messagesMax'>,
): Promise<void> {
  const isBuffered = spec.visibility === 'immediate';
  for (let index = 0; index < queues; index += 1) {
    await instance.createQueue({
      attemptsMax: null,
      ...spec,
      name: queueName(index),
      type: subscribers > 0 ? 'topic' : 'queue',
      ...(isBuffered && messagesMax !== undefined ? { messagesMax } : {}),
    });
  }
  for (let index = 0; index < subscribers; index += 1) {
    await instance.subscribe(queueName(0), { name: subscriberName(index) });
  }
}

/** The queue from which a trial can read traces of messages; undefined for unsharded queues. */
export function tracedQueueOf(
  { kind }: EngineQueue,
  traces: TraceReader,
  subscribers: number,
): Pick<QueueClient, 'traced'> {
  if (kind !== 'sharded') return {};
  return { traced: { traces, queue: queueName(0), consumers: Math.max(1, subscribers) } };
}

export function produceBySession(session: Session, queue: string, { visibility }: EngineQueue): Producer {
  const ofSession = session.time === undefined ? {} : { time: session.time };
  if (visibility === 'immediate') {
    return {
      ...ofSession,
      async send(payloads) {
        try {
          await session.enqueueNow(queue, ...payloads.map((payload) => ({ payload })));
        } catch (error) {
          if (error instanceof QueueError && error.code === 'ENQUEUE_RATE_TOO_HIGH')
            throw new EnqueueRefused(error.code, error);
          throw error;
        }
      },
    };
  }
  return {
    ...ofSession,
    async send(payloads) {
      for (const payload of payloads) session.enqueue(queue, { payload });
      await session.commit();
    },
  };
}

export interface SessionConsumers extends ConsumeOptions {
  openSession: (consumer: number) => Session;
  spec: EngineQueue;
  queues: number;
  subscribers: number;
}

/** Each consumer is a session that collects the messages of a transaction, or as many as there are, and commits. */
export function consumeBySessions(options: SessionConsumers): Consumption {
  const { consumers, operations, deliveries, openSession, spec, queues, subscribers, book } = options;
  const isBuffered = spec.visibility === 'immediate';
  const sessions = Array.from({ length: consumers }, (_, consumer) => openSession(consumer));
  const times = sessions.map(({ time }) => time ?? book.openSession());
  /** What an instance in this process marks itself. */
  const eventOf = (consumer: number) => (sessions[consumer]!.time === undefined ? serverCall : undefined);
  /** Where all consumers take messages in one order, that of the queue. */
  const clock = spec.kind === 'sharded' ? undefined : createMonotonicClock();
  const whose = sessions.map((_, consumer) =>
    subscribers > 0 ? { subscriber: subscriberName(consumer % subscribers) } : {},
  );
  const dequeue = (consumer: number, max: number, signal: AbortSignal): Promise<Message[]> => {
    const [session, queue] = [sessions[consumer]!, queueName(consumer % queues)];
    const given = { ...whose[consumer], max, waitMs, signal };
    return isBuffered ? session.dequeueNow(queue, given) : session.dequeue(queue, given);
  };
  const pulling = startPulling({
    consumers,
    book,
    times,
    pauseMs: 0,
    async turn(consumer, time, signal) {
      const event = eventOf(consumer);
      const taken: Delivery[] = [];
      while (taken.length < operations) {
        const fromMs = clock?.();
        const messages = await time.suspend(dequeue(consumer, operations - taken.length, signal), event);
        time.resume();
        if (messages.length === 0) break;
        const call = fromMs === undefined ? undefined : { fromMs, toMs: clock!() };
        const first = taken.length;
        for (const { payload, deliveryCount } of messages)
          taken.push(deliveries.delivered(payload, consumer, deliveryCount, call));
        if (messages.some(({ deliveryCount }) => deliveryCount > 1))
          deliveries.redelivered(taken.slice(first), consumer);
      }
      if (taken.length === 0) return time.yield(false);
      if (!isBuffered) {
        await time.suspend(sessions[consumer]!.commit(), event);
        time.resume();
      }
      deliveries.consumed(taken, consumer);
      return time.yield(true);
    },
  });
  return {
    async stop() {
      await pulling.stop();
      await Promise.all(sessions.map((session) => session.close()));
      for (const time of times) time.close();
    },
  };
}
