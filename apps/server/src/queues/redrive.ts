/** Moves messages from one queue to another in one transaction. Knows wire values, but not HTTP. */
import type { Redrive, Redriven } from '@shardlab/contract';
import {
  exceptionProperties,
  type Message,
  type NewMessage,
  QueueError,
  type QueueInfo,
  type Session,
} from '@shardlab/engine';
import type { Backend, QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import { explainClosedSession } from './moved-instance.ts';

const defaultMax = 100;
const notes: readonly string[] = Object.values(exceptionProperties);

/**
 * A moved message becomes a new message of the other queue: its delivery attempts start at 0, and it keeps payload, correlation
 * id, group key, priority and properties, except those in which the engine recorded why it was given up.
 */
export async function redrive(
  { queues: host, store }: Pick<Backend, 'queues' | 'store'>,
  from: string,
  options: Redrive,
): Promise<Redriven> {
  assertMoves(store);
  const { max = defaultMax, dryRun = false } = options;
  const [source, target] = await resolveQueues(host, from, options.to);
  if (dryRun)
    return { to: target.name, messages: Math.min(max, source.ready), left: Math.max(0, source.ready - max) };
  const session = host.openSession();
  let messages: number;
  try {
    messages = await move(session, from, target, max);
  } catch (error) {
    throw explainClosedSession(error);
  } finally {
    await session.close();
  }
  return { to: target.name, messages, left: await countLeft(host, source, messages) };
}

/** Moves up to `max` messages, and as many as are certain to fit into a transaction. Returns their number. */
async function move(session: Session, from: string, target: QueueInfo, max: number): Promise<number> {
  let moved = 0;
  let bytes = 0;
  for (;;) {
    // Dequeuing more than can be moved would count as a delivery of the others.
    const fitting = Math.floor((limits.redriveBytes - bytes) / limits.redrivenMessageBytesMax);
    const step = Math.min(max - moved, fitting);
    const messages = step < 1 ? [] : await session.dequeue(from, { max: step });
    if (messages.length === 0) break;
    for (const message of messages) bytes += await enqueueCopy(session, target, message);
    moved += messages.length;
  }
  await session.commit();
  return moved;
}

/** After the commit. If the queue cannot be read then, what is known from before is better than an error: the messages are moved. */
async function countLeft(host: QueueHost, source: QueueInfo, moved: number): Promise<number> {
  try {
    return (await host.queue(source.name)).ready;
  } catch {
    return Math.max(0, source.ready - moved);
  }
}

/** Messages are consumed here and enqueued there in one transaction, which a store may refuse. */
function assertMoves({ store, capabilities: { consumeAndEnqueue: feature } }: Backend['store']): void {
  if (feature.support !== 'no') return;
  throw new QueueError('FEATURE_UNSUPPORTED', {
    message: `Messages cannot be moved between queues in one transaction. ${feature.note ?? ''}`.trim(),
    details: { feature: 'consumeAndEnqueue', store },
  });
}

async function resolveQueues(
  host: QueueHost,
  from: string,
  to: string | undefined,
): Promise<[QueueInfo, QueueInfo]> {
  const source = await host.queue(from);
  const refuse = (message: string) => new ServerError('REDRIVE_REFUSED', { message, details: { from, to } });
  if (source.type === 'topic')
    throw refuse('Messages of a topic cannot be moved: each of its subscribers consumes them');
  if (to === from) throw refuse('The messages are in this queue already');
  const target =
    to === undefined
      ? (await host.queues()).find(({ exceptionQueue }) => exceptionQueue === from)
      : await host.queue(to);
  if (target === undefined)
    throw refuse(`"${from}" is no exception queue of another queue, so "to" must name one`);
  if (target.type === 'topic')
    throw refuse(`"${target.name}" is a topic: each message would reach all its subscribers again`);
  return [source, target];
}

/** Returns the bytes that the copy takes in the transaction, or a little more. A streamed payload takes none. */
async function enqueueCopy(session: Session, target: QueueInfo, message: Message): Promise<number> {
  const { correlationId, groupKey, priority, payload, streamed } = message;
  const properties = Object.entries(message.properties ?? {}).filter(([name]) => !notes.includes(name));
  const same: Omit<NewMessage, 'payload'> = {
    ...(correlationId !== undefined && { correlationId }),
    ...(groupKey !== undefined && { groupKey }),
    ...(priority !== undefined && target.priorities && { priority }),
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
  };
  if (streamed) await session.enqueueStream(target.name, { ...same, payload: message.payloadStream() });
  else session.enqueue(target.name, { ...same, payload });
  return (streamed ? 0 : payload.byteLength) + Buffer.byteLength(JSON.stringify(same));
}
