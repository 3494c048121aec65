/** Which queues a trial has, where its enqueuers put messages and where its dequeuers take them from. */
import type { Implementation, PointParams, Scenario } from '@shardlab/contract';
import type { QueueSpec } from '@shardlab/engine';

/** Where dequeuers take messages from; each gets every message that is enqueued, so each has a ledger of its own. */
export interface Outlet {
  queue: string;
  /** Of a topic. */
  subscriber?: string;
}

export interface QueueLayout {
  /** One instance makes them, and the subscribers, before the others open. */
  queues: QueueSpec[];
  /** Every message goes to each of these, in one transaction. */
  inlets: string[];
  outlets: Outlet[];
}

const name = 'workload';

/**
 * A queue has one outlet, a topic one for each subscriber. The engine has no unsharded topics; what stands in for one is
 * what applications do with job tables: a queue for each subscriber, and a copy into every one.
 */
export function layoutOf(
  scenario: Scenario,
  implementation: Implementation,
  params: PointParams,
): QueueLayout {
  const { type = 'queue', shardsPerInstance: shards } = scenario.queue;
  const durability = params.durability ?? scenario.queue.durability;
  // Messages move only where that is what is measured: else each instance has dequeuers of its own.
  const forwarding = implementation === 'sharded' && params.dequeuers === 'elsewhere';
  const spec: QueueSpec = { name, kind: implementation, type, shards, durability, forwarding };
  if (type === 'queue') return { queues: [spec], inlets: [name], outlets: [{ queue: name }] };
  const numbers = Array.from({ length: params.subscribers ?? 1 }, (_, index) => index + 1);
  if (implementation === 'sharded') {
    return {
      queues: [spec],
      inlets: [name],
      outlets: numbers.map((number) => ({ queue: name, subscriber: `subscriber-${number}` })),
    };
  }
  const copies = numbers.map((number) => `${name}-${number}`);
  return {
    queues: copies.map((copy) => ({ ...spec, name: copy, type: 'queue' })),
    inlets: copies,
    outlets: copies.map((queue) => ({ queue })),
  };
}
