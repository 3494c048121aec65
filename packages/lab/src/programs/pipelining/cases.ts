/**
 * Cases that test a pipeline step by step, each by counts: the order of its messages (D5), when a session may prefetch (D6), and
 * how many messages a huge pipeline leaves to other consumers (D8).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, Consumer, ConsumerOptions, Instance, RemoteInstance } from '@shardlab/engine';

export const pipelineCaseNames = [
  'urgent-after-leaving',
  'branch-before-receive',
  'branch-after-receive',
  'second-consumer-before-receive',
  'second-consumer-after-receive',
  'huge-pipeline',
  'huge-fair-pipeline',
] as const;
export type PipelineCaseName = (typeof pipelineCaseNames)[number];

export interface PipelineCaseContext {
  instance: Instance;
  client: RemoteInstance;
  /** Commits messages of this priority. */
  enqueue(count: number, priority?: number): Promise<void>;
  messages: number;
  messagesMaximum: number;
}

export const queueName = 'queue';
const pollMs = 5;
const settledPolls = 20;
const receiveMs = 10_000;
const xid = { formatId: 1, gtrid: Buffer.from('pipelining'), bqual: Buffer.from('case') };

export type PipelineCaseFigures = Record<string, number>;

const cases: Record<PipelineCaseName, (context: PipelineCaseContext) => Promise<PipelineCaseFigures>> = {
  /** An urgent message is enqueued when a pipeline is full: at which position does the consumer get it? */
  'urgent-after-leaving': async (context) => {
    const { enqueue, messagesMaximum, instance } = context;
    await enqueue(messagesMaximum + 10, 1);
    await enqueue(1, 5);
    const consumer = await openPrefetching(context, context.client.openSession());
    const first = await consumer.receive({ waitMs: receiveMs });
    await settled(instance);
    await enqueue(1, 9);
    let before = 0;
    for (;;) {
      const message = await consumer.receive({ waitMs: receiveMs });
      if (message === undefined || message.priority === 9) break;
      before += 1;
    }
    const figures = { sortedBeforeLeaving: first?.priority === 5 ? 1 : 0, deliveredBeforeUrgent: before };
    await consumer.close();
    return figures;
  },
  'branch-before-receive': async (context) => {
    const session = context.client.openSession();
    await context.enqueue(5);
    const consumer = await openPrefetching(context, session);
    await session.xa!.start(xid);
    await consumer.receive({ waitMs: receiveMs });
    await session.xa!.end(xid);
    await session.xa!.commit(xid, { onePhase: true });
    return { refused: 0, prefetching: consumer.prefetching ? 1 : 0 };
  },
  'branch-after-receive': async (context) => {
    const session = context.client.openSession();
    await context.enqueue(5);
    const consumer = await openPrefetching(context, session);
    await consumer.receive({ waitMs: receiveMs });
    const refused = await isRefused(session.xa!.start(xid));
    return { refused, prefetching: consumer.prefetching ? 1 : 0 };
  },
  'second-consumer-before-receive': async (context) => {
    const session = context.client.openSession();
    await context.enqueue(5);
    const consumer = await openPrefetching(context, session);
    const refused = await isRefused(openPrefetching(context, session));
    await consumer.receive({ waitMs: receiveMs });
    return { refused, prefetching: consumer.prefetching ? 1 : 0 };
  },
  'second-consumer-after-receive': async (context) => {
    const session = context.client.openSession();
    await context.enqueue(5);
    const consumer = await openPrefetching(context, session);
    await consumer.receive({ waitMs: receiveMs });
    const refused = await isRefused(openPrefetching(context, session));
    return { refused, prefetching: consumer.prefetching ? 1 : 0 };
  },
  'huge-pipeline': (context) => starve(context, { fair: false }),
  'huge-fair-pipeline': (context) => starve(context, {}),
};

/** A consumer with a huge pipeline takes one message and stops. Counts what its pipeline holds and what another consumer can get. */
async function starve(context: PipelineCaseContext, options: ConsumerOptions): Promise<PipelineCaseFigures> {
  const { instance, client, enqueue, messages } = context;
  await enqueue(messages);
  const slow = await openPrefetching(context, client.openSession(), {
    ...options,
    messagesMaximum: 10_000,
    ackMode: 'client',
  });
  await slow.receive({ waitMs: receiveMs });
  await settled(instance);
  const inPipeline = instance.queue(queueName).held - 1;
  const other = await client.openSession().openConsumer(queueName, {});
  let left = 0;
  while ((await other.receiveNoWait()) !== undefined) left += 1;
  await slow.close();
  return { inPipeline, leftToAnother: left };
}

function openPrefetching(
  { messagesMaximum }: PipelineCaseContext,
  session: ClientSession,
  options: ConsumerOptions = {},
): Promise<Consumer> {
  return session.openConsumer(queueName, { prefetch: true, messagesMaximum, ...options });
}

async function isRefused(call: Promise<unknown>): Promise<number> {
  try {
    await call;
    return 0;
  } catch (error) {
    if ((error as { code?: string }).code !== 'PREFETCH_ACTIVE') throw error;
    return 1;
  }
}

/** Resolves when the number of held messages has stopped changing. */
async function settled(instance: Instance): Promise<void> {
  for (let polls = 0, before = -1; polls < settledPolls; polls += 1) {
    const { held } = instance.queue(queueName);
    if (held !== before) polls = 0;
    before = held;
    await sleep(pollMs);
  }
}

export const runPipelineCase = (
  name: PipelineCaseName,
  context: PipelineCaseContext,
): Promise<PipelineCaseFigures> => cases[name](context);
