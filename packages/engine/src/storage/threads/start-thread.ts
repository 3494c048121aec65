/** Starts a storage thread from its entry file in this folder. It does not keep the process alive by itself. */
import { Worker } from 'node:worker_threads';

export type ThreadName = 'writer-thread' | 'reader-thread' | 'scrub-thread' | 'watchdog-thread';

export function startThread(name: ThreadName, workerData?: object): Worker {
  // `.ts` in the repository, `.js` in the published package.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const worker = new Worker(new URL(`./${name}${extension}`, import.meta.url), { workerData, name });
  worker.unref();
  return worker;
}
