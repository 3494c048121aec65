/**
 * A session of a shared queue on a worker thread, without the mutex or without the latch (planted faults), or with both. It moves real
 * messages. In its slow memory a change takes microseconds from its read to its write, so that unguarded changes of two threads collide
 * within a few messages.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '../../src/api/limits.ts';
import { connectLink } from '../../src/client/connect.ts';
import { BroadcastChannel } from '../../src/contention/broadcast-channel.ts';
import type { Guard } from '../../src/contention/latch.ts';
import { QueueMemory } from '../../src/contention/queue-memory.ts';
import { QueueObject } from '../../src/contention/queue-object.ts';
import { noThreadClock } from '../../src/contention/session-book.ts';
import { joinSharedMemory } from '../../src/contention/session-parts.ts';
import { SubscriberTable } from '../../src/contention/subscriber-table.ts';
import { ThreadSessionClient } from '../../src/contention/thread-session-client.ts';
import type { SharedQueueHandle } from '../../src/index.ts';
import { spinPause } from '../../src/model/spin-pause.ts';
import { nodePorts } from '../../src/node-ports.ts';

export interface FaultyWork {
  handle: SharedQueueHandle;
  session: number;
  without: 'mutex' | 'latch' | null;
  /** `messages`: each session enqueues `times` messages, and then the first one dequeues all. `members`: each joins the channel, posts and leaves `times` times. */
  work: 'messages' | 'members';
  times: number;
  /** One word, which each thread increments at both meeting points. */
  arrived: SharedArrayBuffer;
}

export interface FaultyResult {
  received: string[];
  error: string | null;
}

const pausesPerChange = 2_000;

class SlowMemory extends QueueMemory {
  override change(at: number, by: number): void {
    const value = this.load(at);
    for (let pause = 0; pause < pausesPerChange; pause += 1) spinPause();
    this.store(at, value + by);
  }
}

const { handle, session, without, work, times, arrived } = workerData as FaultyWork;
const noGuard: Guard = { within: (section) => section() };
const memory = new SlowMemory(handle, handle);
const { machineClock: clock, thread } = nodePorts;
const joined = joinSharedMemory(handle, { memory, session, clock, thread, threadClock: noThreadClock });
const object =
  without === 'mutex'
    ? new QueueObject({
        memory,
        table: new SubscriberTable(memory),
        session,
        counts: joined.counts,
        mutexes: [noGuard],
      })
    : joined.object;
const channel =
  without === 'latch' ? new BroadcastChannel({ memory, session, latch: noGuard }) : joined.channel;

/** Blocks until both threads have come to meeting point `turn`, from 1. */
function meet(turn: number): void {
  const words = new Int32Array(arrived);
  Atomics.add(words, 0, 1);
  Atomics.notify(words, 0);
  for (;;) {
    const count = Atomics.load(words, 0);
    if (count >= 2 * turn) return;
    Atomics.wait(words, 0, count);
  }
}

async function moveMessages(received: string[]): Promise<void> {
  const client = await connectLink({
    path: handle.path,
    connectMs: limits.connectMsDefault,
    ports: nodePorts,
  });
  const shared = new ThreadSessionClient({
    ...joined,
    object,
    channel,
    queue: handle.queue,
    client,
    clock,
    thread,
  });
  const now = { visibility: 'immediate' } as const;
  meet(1);
  for (let each = 0; each < times; each += 1)
    await shared.enqueue({ payload: `${session}: ${each}`, recipients: ['KSUB_1'] }, now);
  meet(2);
  // A single thread loses no changes, so a message that it does not find was lost from the counts before.
  for (let isThere = session === 1; isThere; ) {
    const message = await shared.dequeue('KSUB_1', now);
    if (message !== undefined) received.push(message.payload.toString());
    isThere = message !== undefined;
  }
  await client.close();
}

function joinAndLeave(): void {
  meet(1);
  for (let each = 0; each < times; each += 1) {
    channel.subscribe();
    channel.post();
    channel.takePosts();
    channel.reset();
  }
}

const received: string[] = [];
let error: string | null = null;
try {
  if (work === 'messages') await moveMessages(received);
  else joinAndLeave();
} catch (thrown) {
  error = String(thrown);
}
parentPort!.postMessage({ received, error } satisfies FaultyResult);
