/** The queues of a trial, the queues of its enqueuers, and the sources of its dequeuers. */
import type { Combination } from '@shardlab/contract';
import type { QueueSpec } from '@shardlab/engine';
import { kindOf, storesCopies } from '../../../systems/queue-systems.ts';
import { queueParamsOf } from '../points/queue-params.ts';

/** A source of messages for dequeuers. Every source receives every enqueued message, so each has its own ledger. */
export interface DequeueSource {
  queue: string;
  /** Set for a topic. */
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
 * A queue has one source, a topic one per subscriber. In a system that stores copies, a topic is what applications build from job
 * tables: one queue per subscriber, with a copy of each message in every queue.
 */
export function layoutOf({ program, system, params }: Combination): QueueLayout {
  const { shardsPerInstance: shards, durability, dequeuers, subscribers = 1 } = queueParamsOf(params);
  const kind = kindOf(system);
  const type = program === 'topic' ? 'topic' : 'queue';
  // Forwarding is on only where it is measured; otherwise each instance has its own dequeuers.
  const forwarding = kind === 'sharded' && dequeuers === 'other-instance';
  const spec: QueueSpec = { name, kind, type, shards, durability, forwarding };
  if (type === 'queue') return { queues: [spec], enqueueQueues: [name], dequeueSources: [{ queue: name }] };
  const numbers = Array.from({ length: subscribers }, (_, index) => index + 1);
  if (!storesCopies(system)) {
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
