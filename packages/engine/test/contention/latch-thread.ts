/** Changes two numbers under a latch `gets` times, or without the latch if `isGuarded` is false. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Guard, Latch } from '../../src/contention/latch.ts';
import { bookWords, noThreadClock, SessionBook } from '../../src/contention/session-book.ts';
import { GuardCounts } from '../../src/contention/session-counts.ts';
import { spinPause } from '../../src/model/spin-pause.ts';
import { nodeClocks } from '../../src/node-clocks.ts';

export interface LatchWork {
  words: SharedArrayBuffer;
  /** Each thread begins once this many have started. */
  threads: number;
  holder: number;
  gets: number;
  isGuarded: boolean;
  spins: number;
}

/** Words after the latch: the number of threads that have started, and the two numbers that must stay equal. */
export const begunAt = 16;
export const firstAt = 17;
export const secondAt = 33;

function run({ words: memory, threads, holder, gets, isGuarded, spins }: LatchWork) {
  const words = new Int32Array(memory);
  const counts = new GuardCounts();
  const { machineClock: clock, thread } = nodeClocks;
  const reader = new SessionBook(new Float64Array(new SharedArrayBuffer(8 * bookWords)));
  const timer = reader.open({ clock, threadClock: noThreadClock }).timer('latch');
  const latch: Guard = isGuarded
    ? new Latch({ words, at: 0, holder, counts, timer, clock, thread, spins })
    : { within: (section) => section() };
  Atomics.add(words, begunAt, 1);
  while (Atomics.load(words, begunAt) < threads) spinPause();
  let unequal = 0;
  for (let get = 0; get < gets; get += 1)
    latch.within(() => {
      const [first, second] = [Atomics.load(words, firstAt), Atomics.load(words, secondAt)];
      if (first !== second) unequal += 1;
      Atomics.store(words, firstAt, first + 1);
      Atomics.store(words, secondAt, second + 1);
    });
  const sleepMs = reader.read(clock.nowMs()).waits.latch.ms;
  return { counts: { ...counts.read(), sleepMs }, unequal };
}

parentPort?.postMessage(run(workerData as LatchWork));
