/** Starts a storage thread. It does not keep the process alive by itself. */
import { Worker } from 'node:worker_threads';
import { type ProgramName, programFile } from '../../program-files.ts';

export type ThreadName = Extract<ProgramName, `${string}-thread`>;

export function startThread(name: ThreadName, workerData?: object): Worker {
  const worker = new Worker(programFile(name), { workerData, name, ...withoutInputType() });
  worker.unref();
  return worker;
}

/** A thread has the flags of its process. With `node --input-type=module -e …` Node would refuse to start it from a file. */
function withoutInputType(): { execArgv?: string[] } {
  return process.execArgv.some((flag) => flag.startsWith('--input-type')) ? { execArgv: [] } : {};
}
