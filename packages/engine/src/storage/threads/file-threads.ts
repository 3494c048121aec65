/**
 * Threads that open a file, work on it until it is closed, and then wait for the next one. Starting a thread is most of the CPU
 * time that opening a small instance costs, so a thread that has closed its file is kept for the next instance of the process.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from './start-thread.ts';

type FileThreadName = 'writer-thread' | 'reader-thread';

/** Idle threads that a process keeps of each kind. One takes about 5 MB. */
const idleThreadsMax = 2;

const idleThreads: Record<FileThreadName, Worker[]> = { 'writer-thread': [], 'reader-thread': [] };

/** Has an idle thread open the file, or else a new one. It does not keep the process alive by itself. */
export function openInThread(name: FileThreadName, file: object): Worker {
  const worker = takeIdle(name) ?? startThread(name);
  worker.postMessage({ kind: 'open', file } satisfies FileThreadRequest<object>);
  return worker;
}

function takeIdle(name: FileThreadName): Worker | undefined {
  const worker = idleThreads[name].pop();
  if (worker !== undefined) removeListeners(worker);
  return worker;
}

/** Keeps a thread that has closed its file, or ends it. The caller does not use it any more. */
export function keepThread(name: FileThreadName, worker: Worker): void {
  removeListeners(worker);
  worker.unref();
  const idle = idleThreads[name];
  if (idle.length === idleThreadsMax) {
    worker.postMessage({ kind: 'end' } satisfies FileThreadRequest<object>);
    return;
  }
  idle.push(worker);
  const forget = () => {
    idleThreads[name] = idleThreads[name].filter((other) => other !== worker);
  };
  worker.on('error', forget);
  worker.on('exit', forget);
}

/** Of events that have no listeners by Node itself. */
function removeListeners(worker: Worker): void {
  for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event);
}

/** What an idle thread is told. */
export type FileThreadRequest<File> = { kind: 'open'; file: File } | { kind: 'end' };
