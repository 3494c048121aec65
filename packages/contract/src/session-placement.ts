/** On which instances the sessions of a scenario are. */
import Type, { type Static } from 'typebox';

export const SessionPlacement = Type.Union([Type.Literal('even'), Type.Literal('skewed')], {
  description:
    'even, the default: as many threads on each instance; skewed: three quarters of them on the first instance, and the rest spread evenly over the others',
});
export type SessionPlacement = Static<typeof SessionPlacement>;

export interface PlacedThreads {
  threads: number;
  instances: number;
  placement?: SessionPlacement;
}

/** Of threads that are placed unevenly, this share is not on the first instance. */
const elsewhereShare = 1 / 4;

/** Threads and instances that `skewed` needs, so that no instance is without a thread. */
export const canBeSkewed = ({ threads, instances }: PlacedThreads): boolean =>
  instances > 1 && threadsElsewhere(threads) >= instances - 1;

const threadsElsewhere = (threads: number) => Math.floor(threads * elsewhereShare);

/** The instance, from 1, of a thread, from 0. */
export function instanceOfThread(thread: number, { threads, instances, placement }: PlacedThreads): number {
  if (placement !== 'skewed') return 1 + (thread % instances);
  const onFirst = threads - threadsElsewhere(threads);
  return thread < onFirst ? 1 : 2 + ((thread - onFirst) % (instances - 1));
}

/** How many threads each instance has. */
export function threadsByInstance({ threads, instances, placement }: PlacedThreads): number[] {
  if (placement !== 'skewed') return spread(threads, instances);
  const elsewhere = threadsElsewhere(threads);
  return [threads - elsewhere, ...spread(elsewhere, instances - 1)];
}

const spread = (threads: number, instances: number): number[] =>
  Array.from(
    { length: instances },
    (_, index) => Math.floor(threads / instances) + (index < threads % instances ? 1 : 0),
  );
