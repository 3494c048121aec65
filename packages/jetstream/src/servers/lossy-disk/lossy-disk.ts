/**
 * A disk in memory for one server, which at a power cut loses all bytes that were not synced. It is a file system in user space
 * (FUSE), seen only by the server's process: the mount is in a namespace of its own and ends with it, however it ends.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { FromDisk, ToDisk } from './disk-thread.ts';

const device = '/dev/fuse';
/** The descriptor that a mounted program inherits of the device; it does not keep it. */
const inherited = 3;
const mountAndRun = `mount -i -t fuse -o fd=${inherited},rootmode=40000,user_id=0,group_id=0 shardlab "$0" && exec "$@" ${inherited}<&-`;
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

let missing: string | null | undefined;

/** What this machine lacks for such disks, as a sentence; null if nothing. Determined once. */
export function missingForLossyDisks(): string | null {
  missing ??= askForMissing();
  return missing;
}

function askForMissing(): string | null {
  const needed = 'a disk that drops what was not synced needs Linux with FUSE, and root';
  if (process.platform !== 'linux') return `${needed}: this is ${process.platform}`;
  try {
    accessSync(device, constants.R_OK | constants.W_OK);
  } catch {
    return `${needed}: there is no ${device} to read and write`;
  }
  const { status, stderr, error } = spawnSync('unshare', ['-m', 'mount', '--version'], { encoding: 'utf8' });
  if (status === 0) return null;
  return `${needed}: unshare -m answers ${error?.message ?? stderr.trim()}`;
}

/** How a program is started that sees the disk as a folder. */
export interface MountedCommand {
  command: string;
  args: string[];
  /** Descriptor to pass to the program as its fourth, and to close once it has started. */
  device: number;
}

export class LossyDisk {
  readonly #thread = new Worker(new URL(`./disk-thread${extension}`, import.meta.url));
  #unmounted: Promise<void> = Promise.resolve();

  /** `folder` must exist. One program at a time: `unmounted` resolves once the last one has ended. */
  mountFor(folder: string, program: string, args: readonly string[]): MountedCommand {
    const opened = openSync(device, 'r+');
    this.#unmounted = this.#answer('unmounted').finally(() => closeSync(opened));
    this.#send({ type: 'serve', device: opened });
    const command = ['-m', 'sh', '-c', mountAndRun, folder, program, ...args];
    return { command: 'unshare', args: command, device: opened };
  }

  /** Resolves when the program that saw the disk has ended and all that it wrote is here. */
  async unmounted(): Promise<void> {
    this.#send({ type: 'abandon' }); // if it ended before it mounted anything
    await this.#unmounted;
  }

  /** Makes durable what is written, as the kernel does by itself after half a minute. */
  writeBack(): void {
    this.#send({ type: 'write-back' });
  }

  /** Reverts each file to what was last synced. The disk must be unmounted. */
  async cutPower(): Promise<void> {
    const cut = this.#answer('cut');
    this.#send({ type: 'cut-power' });
    await cut;
  }

  async close(): Promise<void> {
    await this.unmounted();
    await this.#thread.terminate();
  }

  #send(message: ToDisk): void {
    this.#thread.postMessage(message);
  }

  #answer(type: FromDisk['type']): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#thread.off('message', onMessage);
        this.#thread.off('error', onError);
      };
      const onError = (error: Error) => {
        stop();
        reject(error);
      };
      const onMessage = (message: FromDisk) => {
        if (message.type !== type) return;
        stop();
        resolve();
      };
      this.#thread.on('message', onMessage);
      this.#thread.on('error', onError);
    });
  }
}
