/**
 * The clock of an open loop on a separate thread: announces how many transactions are due. Timers on the session thread
 * have a resolution of 1 ms and are late when the thread is busy; a busy loop would occupy a core.
 */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { PacerOptions } from './paced-load.ts';

const { intervalMs, stop } = workerData as PacerOptions;
/** At high rates several transactions are announced at once. */
const pauseMsMin = 0.2;
/** The scale of the lab's clock; importing that would load an engine into this thread. */
const clock = () => Number(process.hrtime.bigint()) / 1e6;
parentPort!.postMessage('ready');
const [startAtMs] = (await once(parentPort!, 'message')) as [number];
let announced = 0;
while (Atomics.load(stop, 0) === 0) {
  const due = Math.floor((clock() - startAtMs) / intervalMs) + 1;
  if (due > announced) {
    parentPort!.postMessage(due);
    announced = due;
  }
  Atomics.wait(stop, 0, 0, Math.max(pauseMsMin, startAtMs + announced * intervalMs - clock()));
}
