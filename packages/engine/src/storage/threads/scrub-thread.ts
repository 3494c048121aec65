/** The thread of one scrub: reads the files slice by slice and rests in between, then ends (`scrub-files.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { nodeClocks } from '../../node-clocks.ts';
import { type ScrubbedFiles, scrubFiles } from './scrub-files.ts';

/** Rest after a slice, as a multiple of its time: a scrub takes at most a twentieth of a core and of the disk. */
const restPerWork = 19;
const restMsMax = 5_000;

const { files, stop } = workerData as { files: ScrubbedFiles; stop: Int32Array };
const { clock, thread } = nodeClocks;
const faults: string[] = [];
let startedAtMs = clock.monotonicMs();
const isStopped = () => Atomics.load(stop, 0) !== 0;
for (const found of scrubFiles(files)) {
  faults.push(...found);
  thread.wait(stop, 0, 0, Math.min((clock.monotonicMs() - startedAtMs) * restPerWork, restMsMax));
  if (isStopped()) break;
  startedAtMs = clock.monotonicMs();
}
if (!isStopped()) parentPort!.postMessage(faults);
