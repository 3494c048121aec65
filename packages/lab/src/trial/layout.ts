/** The queues of a trial, the queues of its enqueuers, and the sources of its dequeuers. */
import type { Implementation, PointParams, Scenario } from '@shardlab/contract';
import type { QueueSpec } from '@shardlab/engine';

/** A source of messages for dequeuers. Every source receives every enqueued message, so each has its own ledger. */
export interface DequeueSource {
  queue: string;
  /** For a topic. */
  subscriber?: string;
}

export interface QueueLayout {
  /** Created, with the subscribers, by one instance before the others open. */
  queues: QueueSpec[];
  /** Every message is enqueued to each of these queues, in one transaction. */
  enqueueQueues: string[];
  dequeueSources: DequeueSource[];
}

const name = 'workload';

/**
 * A queue has one source, a topic one per subscriber. The engine has no unsharded topics; they are replaced by what
 * applications do with job tables: one queue per subscriber, and a copy of each message in every queue.
 */
export function layoutOf(
  scenario: Scenario,
  implementation: Implementation,
  params: PointParams,
): QueueLayout {
  const { type = 'queue', shardsPerInstance: shards } = scenario.queue;
  const durability = params.durability ?? scenario.queue.durability;
  // Forwarding is on only where it is measured; otherwise each instance has its own dequeuers.
  const forwarding = implementation === 'sharded' && params.dequeuers === 'other-instance';
  const spec: QueueSpec = { name, kind: implementation, type, shards, durability, forwarding };
  if (type === 'queue') return { queues: [spec], enqueueQueues: [name], dequeueSources: [{ queue: name }] };
  const numbers = Array.from({ length: params.subscribers ?? 1 }, (_, index) => index + 1);
  if (implementation === 'sharded') {
    return {
      queues: [spec],
      enqueueQueues: [name],
      dequeueSources: numbers.map((number) => ({ queue: name, subscriber: `subscriber-${number}` })),
    };
  }
  const copies = numbers.map((number) => `${name}-${number}`);
  return {
    queues: copies.map((copy) => ({ ...spec, name: copy, type: 'queue' })),
    enqueueQueues: copies,
    dequeueSources: copies.map((queue) => ({ queue })),
  };
}
