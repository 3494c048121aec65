/** Reports changes of a topic's messages that no session call causes: delayed messages that become due, and retries. */

import type { Delivery } from '../log/delivery.ts';
import type { QueueId } from '../model/ids.ts';
import { bufferOf, readRecord } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { RetryChange } from '../queues/retries.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import type { ShardedParts } from './assemble-sharded.ts';

export type TopicChange =
  /** Messages that were delivered to the subscriber: see `RetryChange`. */
  | { kind: RetryChange; subscriber: string; messages: number }
  /** A delayed message is ready. Null: for all subscribers. */
  | { kind: 'due'; recipients: readonly string[] | null };

export interface FollowedParts {
  catalog: Pick<Catalog, 'subscribers'>;
  sharded: Pick<ShardedParts, 'retries' | 'delayed'>;
  /** The engine of the topic, if it is unsharded. */
  unsharded: Pick<UnshardedEngine, 'retries'> | undefined;
}

type Listener = (change: TopicChange) => void;

/** Calls the listener when messages of the topic become ready or are withheld. Returns what ends that. */
export function followTopic(
  { queueId }: QueueRow,
  { catalog, sharded, unsharded }: FollowedParts,
  listener: Listener,
): () => void {
  if (unsharded !== undefined) {
    const onRetry = (kind: RetryChange, topic: QueueRow, subscriber: string) => {
      if (topic.queueId === queueId) listener({ kind, subscriber, messages: 1 });
    };
    unsharded.retries.listeners.add(onRetry);
    return () => unsharded.retries.listeners.delete(onRetry);
  }
  const onRetry = (kind: RetryChange, topic: QueueRow, deliveries: readonly Delivery[]) => {
    if (topic.queueId !== queueId) return;
    const names = new Map(catalog.subscribers.ofTopic(queueId).map(({ id, name }) => [id, name]));
    for (const { cursor, count } of deliveries) {
      const subscriber = names.get(cursor.subscriber);
      if (subscriber !== undefined) listener({ kind, subscriber, messages: count });
    }
  };
  const onDue = (topic: QueueId, record: Uint8Array) => {
    if (topic !== queueId) return;
    const { recipients = null } = readRecord(bufferOf(record), 0);
    listener({ kind: 'due', recipients });
  };
  sharded.retries.listeners.add(onRetry);
  sharded.delayed.dueListeners.add(onDue);
  return () => {
    sharded.retries.listeners.delete(onRetry);
    sharded.delayed.dueListeners.delete(onDue);
  };
}
