/**
 * The parts of a shared queue's memory that a session uses: its counters, the metadata object behind a mutex, and the channel
 * behind the latch.
 */

import type { SharedQueueHandle } from '../api/shared-queue.ts';
import type { ThreadSessionNumber } from '../model/ids.ts';
import type { CallingThread, MachineClock, ThreadClock } from '../model/ports.ts';
import { BroadcastChannel } from './broadcast-channel.ts';
import { type Guard, Latch, type LatchOptions } from './latch.ts';
import type { QueueMemory } from './queue-memory.ts';
import { QueueObject } from './queue-object.ts';
import { SessionCounts } from './session-counts.ts';
import { SessionTrace } from './session-trace.ts';
import { SubscriberTable } from './subscriber-table.ts';

type SharedMemoryOfSessions = Pick<SharedQueueHandle, 'statistics' | 'trace' | 'traceEventsMax'>;

export interface JoinOptions {
  memory: QueueMemory;
  session: ThreadSessionNumber;
  clock: MachineClock;
  thread: CallingThread;
  /** Clock of the session's thread; the session closes it. */
  threadClock: ThreadClock;
}

export function joinSharedMemory(
  { statistics, trace: traced, traceEventsMax: eventsMax }: SharedMemoryOfSessions,
  { memory, session, clock, thread, threadClock }: JoinOptions,
) {
  const counts = new SessionCounts(statistics, session);
  counts.clear();
  const book = counts.book.open({ clock, threadClock });
  const { words } = memory;
  const common = { words, holder: session + 1, clock, thread };
  const trace = eventsMax === 0 ? undefined : new SessionTrace(traced, { session, eventsMax });
  const traceOf = (kind: 'latch' | 'mutex'): LatchOptions['onReleased'] =>
    trace === undefined ? undefined : (...times) => trace.add(kind, ...times);
  const latch: Guard = new Latch({
    ...common,
    at: memory.latchAt,
    counts: counts.latch,
    timer: book.timer('latch'),
    onReleased: traceOf('latch'),
  });
  const ofMutex = { counts: counts.mutex, timer: book.timer('mutex'), onReleased: traceOf('mutex') };
  const mutexes: Guard[] = Array.from(
    { length: memory.shape.copies },
    (_, copy) => new Latch({ ...common, ...ofMutex, at: memory.mutexAt(copy) }),
  );
  const table = new SubscriberTable(memory);
  return {
    memory,
    session,
    counts,
    book,
    trace,
    object: new QueueObject({ memory, table, session, counts, mutexes }),
    channel: new BroadcastChannel({ memory, session, latch }),
  };
}
