/** All loads that take part in the torture. */
import type { Actor } from '../actor.ts';
import { forwardedActor } from './forwarded-actor.ts';
import { poisonActor } from './poison-actor.ts';
import { queueActor } from './queue-actor.ts';
import { timedActor } from './timed-actor.ts';
import { topicActor } from './topic-actor.ts';

export const actors: readonly Actor[] = [
  queueActor({ name: 'sharded', spec: { shards: 2 } }),
  queueActor({ name: 'relaxed', spec: { durability: 'relaxed' } }),
  queueActor({
    name: 'keyed',
    spec: { shards: 3 },
    vary: ({ random }) => ({ groupKey: `k${random.below(5)}` }),
  }),
  queueActor({
    name: 'lanes',
    spec: { priorities: true },
    vary: ({ random }) => ({ priority: random.below(10) }),
  }),
  queueActor({
    name: 'delayed',
    spec: {},
    ordered: false, // by when they are due
    vary: ({ random }) => (random.chance(0.5) ? { delayMs: 1 + random.below(120) } : {}),
  }),
  queueActor({ name: 'unsharded', spec: { kind: 'unsharded' } }),
  forwardedActor({ name: 'forwarded', spec: { shards: 2 } }),
  forwardedActor({ name: 'forwarded-relaxed', spec: { durability: 'relaxed' } }),
  forwardedActor({ name: 'forwarded-lanes', spec: { priorities: true } }),
  timedActor,
  topicActor,
  poisonActor,
];

export function actorNamed(name: string): Actor {
  const actor = actors.find((each) => each.name === name);
  if (actor === undefined) throw new Error(`There is no load "${name}"`);
  return actor;
}
