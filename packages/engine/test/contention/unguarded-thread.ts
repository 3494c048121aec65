/** Counts messages in and out for a subscriber, as sessions do, with the mutex or, as a planted fault, without it. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Guard } from '../../src/contention/latch.ts';
import { QueueMemory } from '../../src/contention/queue-memory.ts';
import { QueueObject } from '../../src/contention/queue-object.ts';
import { noThreadClock } from '../../src/contention/session-book.ts';
import { joinSharedMemory } from '../../src/contention/session-parts.ts';
import { SubscriberTable } from '../../src/contention/subscriber-table.ts';
import type { SharedQueueHandle } from '../../src/index.ts';
import { spinPause } from '../../src/model/spin-pause.ts';
import { nodeClocks } from '../../src/node-clocks.ts';

export interface CountWork {
  handle: SharedQueueHandle;
  session: number;
  times: number;
  isGuarded: boolean;
  /** One word: the number of threads that have begun. */
  begun: SharedArrayBuffer;
}

const { handle, session, times, isGuarded, begun } = workerData as CountWork;
const memory = new QueueMemory(handle, handle);
const { machineClock: clock, thread } = nodeClocks;
const joined = joinSharedMemory(handle, { memory, session, clock, thread, threadClock: noThreadClock });
const { counts, object } = joined;
const noGuard: Guard = { within: (section) => section() };
const used = isGuarded
  ? object
  : new QueueObject({
      memory,
      table: new SubscriberTable(memory),
      session,
      counts,
      mutexes: Array.from({ length: handle.copies }, () => noGuard),
    });
const words = new Int32Array(begun);
Atomics.add(words, 0, 1);
while (Atomics.load(words, 0) < 2) spinPause();
for (let time = 0; time < times; time += 1) {
  const { slot } = used.pinRow('KSUB_1');
  used.changeCounts([slot], { ready: 1 });
  used.unpin();
}
parentPort!.postMessage('done');
