/** All workloads of the torture test. */

import { forwardedWorkload } from './forwarded-workload.ts';
import { poisonWorkload } from './poison-workload.ts';
import { queueWorkload } from './queue-workload.ts';
import { timedHoldWorkload } from './timed-hold-workload.ts';
import { topicWorkload } from './topic-workload.ts';
import type { TortureWorkload } from './workload.ts';

export const workloads: readonly TortureWorkload[] = [
  queueWorkload({ name: 'sharded', spec: { shards: 2 } }),
  queueWorkload({ name: 'relaxed', spec: { durability: 'relaxed' } }),
  queueWorkload({
    name: 'keyed',
    spec: { shards: 3 },
    vary: ({ random }) => ({ groupKey: `k${random.below(5)}` }),
  }),
  queueWorkload({
    name: 'lanes',
    spec: { priorities: true },
    vary: ({ random }) => ({ priority: random.below(10) }),
  }),
  queueWorkload({
    name: 'delayed',
    spec: {},
    ordered: false, // messages are delivered in the order of their due time
    vary: ({ random }) => (random.chance(0.5) ? { delayMs: 1 + random.below(120) } : {}),
  }),
  queueWorkload({ name: 'unsharded', spec: { kind: 'unsharded' } }),
  queueWorkload({ name: 'unsharded-grouped', spec: { kind: 'unsharded-grouped' } }),
  forwardedWorkload({ name: 'forwarded', spec: { shards: 2 } }),
  forwardedWorkload({ name: 'forwarded-relaxed', spec: { durability: 'relaxed' } }),
  forwardedWorkload({ name: 'forwarded-lanes', spec: { priorities: true } }),
  timedHoldWorkload,
  topicWorkload({ name: 'topic', spec: { shards: 2 } }),
  topicWorkload({ name: 'unsharded-topic', spec: { kind: 'unsharded' } }),
  topicWorkload({ name: 'grouped-topic', spec: { kind: 'unsharded-grouped' } }),
  poisonWorkload,
];

export function workloadNamed(name: string): TortureWorkload {
  const workload = workloads.find((candidate) => candidate.name === name);
  if (workload === undefined) throw new Error(`There is no workload "${name}"`);
  return workload;
}
