/**
 * The signs of life of all instances: a plain file of one page with a slot for each. A slot is written every quarter of
 * a second by the process that hosts the instance and read by all others. Plain, because a renewal must neither wait for
 * a lock that a stopped process holds, nor for a sync, nor need room on a full disk (the page is overwritten in place);
 * what must be exact, who hosts what, is a transaction of the catalog.
 *
 *     f64 expires at (monotonic ms) · f64 claim · f64 epoch (0: opening) · u32 pid · … · u32 CRC-32 of the 60 bytes before
 */
import { closeSync, openSync, readSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../core/errors.ts';
import type { LeaseSign } from '../core/lease-watch.ts';
import { limits } from '../core/limits.ts';

const slotBytes = 64;
const checkedBytes = slotBytes - 4;
const fileBytes = slotBytes * limits.instancesMax;

export class LeaseFile {
  readonly #path: string;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(fileBytes);

  /** Opens or makes it; the folder exists. */
  constructor(dir: string) {
    this.#path = join(dir, 'leases');
    try {
      this.#file = openShared(this.#path);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Writes the sign without blocking the thread; resolves when others can see it. */
  async write(sign: LeaseSign): Promise<void> {
    const slot = encode(sign);
    await new Promise<void>((resolve, reject) =>
      write(this.#file, slot, 0, slotBytes, offsetOf(sign.instance), (error) =>
        error === null ? resolve() : reject(this.#failure(error)),
      ),
    );
  }

  /** As `write`, for where the answer is needed at once. */
  writeNow(sign: LeaseSign): void {
    try {
      writeSync(this.#file, encode(sign), 0, slotBytes, offsetOf(sign.instance));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** All signs that can be read: a slot that is being written may be missing this once. */
  read(): LeaseSign[] {
    let bytes: number;
    try {
      bytes = readSync(this.#file, this.#buffer, 0, fileBytes, 0);
    } catch (error) {
      throw this.#failure(error);
    }
    const signs: LeaseSign[] = [];
    for (let start = 0; start + slotBytes <= bytes; start += slotBytes) {
      const sign = decode(this.#buffer.subarray(start, start + slotBytes), start / slotBytes + 1);
      if (sign !== undefined) signs.push(sign);
    }
    return signs;
  }

  close(): void {
    closeSync(this.#file);
  }

  #failure(cause: unknown): QueueError {
    const { code } = cause as NodeJS.ErrnoException;
    const readOnly = code === 'EACCES' || code === 'EROFS' || code === 'EPERM';
    return new QueueError(readOnly ? 'STORAGE_READ_ONLY' : 'STORAGE_FAILED', {
      details: { path: this.#path, system: code },
      cause,
    });
  }
}

/** To read and write, without emptying it. */
function openShared(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  closeSync(openSync(path, 'a'));
  return openSync(path, 'r+');
}

function offsetOf(instance: number): number {
  return (instance - 1) * slotBytes;
}

function encode({ claim, expiresAtMs, epoch, pid }: LeaseSign): Buffer {
  const slot = Buffer.alloc(slotBytes);
  slot.writeDoubleLE(expiresAtMs, 0);
  slot.writeDoubleLE(claim, 8);
  slot.writeDoubleLE(epoch, 16);
  slot.writeUInt32LE(pid, 24);
  slot.writeUInt32LE(crc32(slot.subarray(0, checkedBytes)), checkedBytes);
  return slot;
}

function decode(slot: Buffer, instance: number): LeaseSign | undefined {
  const claim = slot.readDoubleLE(8);
  if (claim === 0 || slot.readUInt32LE(checkedBytes) !== crc32(slot.subarray(0, checkedBytes))) {
    return undefined;
  }
  return {
    instance,
    claim,
    expiresAtMs: slot.readDoubleLE(0),
    epoch: slot.readDoubleLE(16),
    pid: slot.readUInt32LE(24),
  };
}
