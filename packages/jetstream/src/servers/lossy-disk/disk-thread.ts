/**
 * The thread that answers the kernel for one disk. It waits in a read, which no message interrupts: while the disk is mounted,
 * messages are taken before the next request.
 */
import { readSync, writeSync } from 'node:fs';
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { DiskContents } from './disk-contents.ts';
import { readRequest, requestBytesMax } from './fuse-messages.ts';
import { FuseRequests } from './fuse-requests.ts';

export type ToDisk =
  /** `device`: an open `/dev/fuse` that is about to be mounted. Answered by `unmounted`. */
  | { type: 'serve'; device: number }
  /** The device will not be mounted. */
  | { type: 'abandon' }
  | { type: 'write-back' }
  /** Answered by `cut`. */
  | { type: 'cut-power' };

export type FromDisk = { type: 'unmounted' } | { type: 'cut' };

const port = parentPort as MessagePort;
const disk = new DiskContents();
const bytes = Buffer.alloc(requestBytesMax);
const never = new Int32Array(new SharedArrayBuffer(4));
const mountPollMs = 2;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

function serve(device: number): void {
  const requests = new FuseRequests(disk);
  while (true) {
    let length: number;
    try {
      length = readSync(device, bytes, 0, bytes.length, null);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENODEV') break;
      if (code === 'EPERM' && !isAbandoned())
        Atomics.wait(never, 0, 0, mountPollMs); // not mounted yet
      else if (code === 'EPERM') break;
      else if (code !== 'EINTR' && code !== 'ENOENT' && code !== 'EAGAIN') throw error;
      continue;
    }
    isAbandoned();
    const answer = requests.answer(readRequest(bytes.subarray(0, length)));
    if (answer === undefined) continue;
    try {
      writeSync(device, answer);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENODEV') throw error; // who asked is gone
    }
  }
  port.postMessage({ type: 'unmounted' } satisfies FromDisk);
}

/** Takes the messages that came while a request was waited for. */
function isAbandoned(): boolean {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    const { type } = next.message as ToDisk;
    if (type === 'abandon') return true;
    if (type === 'write-back') disk.syncAll();
  }
  return false;
}

port.on('message', (message: ToDisk) => {
  if (message.type === 'serve') serve(message.device);
  else if (message.type === 'write-back') disk.syncAll();
  else if (message.type === 'cut-power') {
    disk.cutPower();
    port.postMessage({ type: 'cut' } satisfies FromDisk);
  }
});
