/** The wait events of sessions on threads: for each other and for messages. */
import type { ThreadSessionStatistics } from '../api/shared-queue.ts';
import { registerWaitEvent, type WaitEvent, type WaitStats, waitBucketCount } from '../api/waits.ts';
import { waitingForMessages } from '../queues/waiters.ts';

export const latchFree = registerWaitEvent({
  name: 'latch free',
  class: 'concurrency',
  about: "asleep because another session on a thread holds the broadcast channel's latch",
  oneHolderIn: 'instance',
});

export const mutexX = registerWaitEvent({
  name: 'library cache: mutex X',
  class: 'concurrency',
  about: "asleep because another session on a thread holds the mutex of the shared queue's metadata object",
  oneHolderIn: 'instance',
});

export const unreadMessage = registerWaitEvent({
  name: 'wait for unread message on broadcast channel',
  class: 'idle',
  about: 'a listen without a message for any of its subscribers',
});

export const instanceCall = registerWaitEvent({
  name: 'instance call',
  class: 'network',
  standsFor: null,
  about:
    'a session on a thread waits for the answer of its instance to a call other than a commit: the way there and back, and its turn there',
});

export const instanceCommit = registerWaitEvent({
  name: 'instance commit',
  class: 'commit',
  standsFor: 'log file sync',
  about: 'the same for a commit, with its log file sync at the instance',
});

/** The waits of sessions since they were opened, up to now. How long each took is not kept, so all are in no bucket. */
export function waitsOf(sessions: readonly ThreadSessionStatistics[]): WaitStats[] {
  const stats = (
    event: WaitEvent,
    of: (session: ThreadSessionStatistics) => { waits: number; ms: number },
  ): WaitStats => {
    const all = sessions.map(of);
    return {
      event: event.name,
      class: event.class,
      emulated: event.emulated,
      waits: all.reduce((sum, { waits }) => sum + waits, 0),
      totalMs: all.reduce((sum, { ms }) => sum + ms, 0),
      buckets: Array.from({ length: waitBucketCount }, () => 0),
    };
  };
  return [
    stats(mutexX, ({ mutex }) => ({ waits: mutex.sleeps, ms: mutex.sleepMs })),
    stats(latchFree, ({ latch }) => ({ waits: latch.sleeps, ms: latch.sleepMs })),
    stats(unreadMessage, ({ listenSleeps, listenMs }) => ({ waits: listenSleeps, ms: listenMs })),
    stats(waitingForMessages, ({ dequeueSleeps, dequeueMs }) => ({ waits: dequeueSleeps, ms: dequeueMs })),
    stats(instanceCall, ({ calls, callMs }) => ({ waits: calls, ms: callMs })),
    stats(instanceCommit, ({ commits, commitMs }) => ({ waits: commits, ms: commitMs })),
  ];
}
