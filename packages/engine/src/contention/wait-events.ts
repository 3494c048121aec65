/** Where sessions on threads wait for each other and for messages. */
import type { ThreadSessionStatistics } from '../api/shared-queue.ts';
import { registerWaitEvent, type WaitEvent, type WaitStats, waitBucketCount } from '../api/waits.ts';
import { waitingForMessages } from '../queues/waiters.ts';

export const latchFree = registerWaitEvent({
  name: 'latch free',
  class: 'concurrency',
  about: "asleep because another session on a thread holds the broadcast channel's latch",
});

export const mutexX = registerWaitEvent({
  name: 'library cache: mutex X',
  class: 'concurrency',
  about: "asleep because another session on a thread holds the mutex of the shared queue's metadata object",
});

export const unreadMessage = registerWaitEvent({
  name: 'wait for unread message on broadcast channel',
  class: 'idle',
  about: 'a listen without a message for any of its subscribers',
});

/** The waits of sessions since they were opened. How long each took is not kept, so all are in no bucket. */
export function waitsOf(sessions: readonly ThreadSessionStatistics[]): WaitStats[] {
  const sum = (of: (session: ThreadSessionStatistics) => number) =>
    sessions.reduce((total, session) => total + of(session), 0);
  const stats = (event: WaitEvent, waits: number, totalMs: number): WaitStats => ({
    event: event.name,
    class: event.class,
    emulated: event.emulated,
    waits,
    totalMs,
    buckets: Array.from({ length: waitBucketCount }, () => 0),
  });
  return [
    stats(
      mutexX,
      sum(({ mutex }) => mutex.sleeps),
      sum(({ mutex }) => mutex.sleepMs),
    ),
    stats(
      latchFree,
      sum(({ latch }) => latch.sleeps),
      sum(({ latch }) => latch.sleepMs),
    ),
    stats(
      unreadMessage,
      sum(({ listenSleeps }) => listenSleeps),
      sum(({ listenMs }) => listenMs),
    ),
    stats(
      waitingForMessages,
      sum(({ dequeueSleeps }) => dequeueSleeps),
      sum(({ dequeueMs }) => dequeueMs),
    ),
  ];
}
