/**
 * The heartbeats of all instances: a plain file of one page with a slot for each. The process that hosts an instance writes
 * its slot every quarter of a second; all others read it. The file is plain because a renewal must not wait for a lock that
 * a stopped process holds, nor for a sync, nor need space on a full disk (the page is overwritten in place). Which process
 * hosts an instance must be exact, so that is a transaction of the catalog.
 *
 *     f64 expires at (monotonic ms) · f64 claim · f64 epoch (0: opening) · u32 pid · … · u32 CRC-32 of the 60 bytes before
 */

import { closeSync, openSync, readSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { LeaseHeartbeat } from '../../model/lease-monitor.ts';
import { makePrivate, privateFileMode } from '../private-files.ts';

const slotBytes = 64;
const checkedBytes = slotBytes - 4;
const fileBytes = slotBytes * limits.instancesMax;

export const leasesPath = (dir: string): string => join(dir, 'leases');

export class LeaseFile {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #buffer = Buffer.alloc(fileBytes);

  /** Opens or creates the file; the folder must exist. */
  constructor(dir: string) {
    this.#path = leasesPath(dir);
    try {
      this.#descriptor = openOrCreate(this.#path);
      makePrivate(this.#path);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Writes a heartbeat without blocking the thread; resolves when other processes can read it. */
  async write(heartbeat: LeaseHeartbeat): Promise<void> {
    const slot = encodeSlot(heartbeat);
    await new Promise<void>((resolve, reject) =>
      write(this.#descriptor, slot, 0, slotBytes, slotOffset(heartbeat.instance), (error) =>
        error === null ? resolve() : reject(this.#failure(error)),
      ),
    );
  }

  /** As `write`, but blocks until it is done. */
  writeBlocking(heartbeat: LeaseHeartbeat): void {
    try {
      writeSync(this.#descriptor, encodeSlot(heartbeat), 0, slotBytes, slotOffset(heartbeat.instance));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** All readable heartbeats. A slot that is being written at this moment may be missing. */
  read(): LeaseHeartbeat[] {
    let bytes: number;
    try {
      bytes = readSync(this.#descriptor, this.#buffer, 0, fileBytes, 0);
    } catch (error) {
      throw this.#failure(error);
    }
    const heartbeats: LeaseHeartbeat[] = [];
    for (let start = 0; start + slotBytes <= bytes; start += slotBytes) {
      const heartbeat = decodeSlot(this.#buffer.subarray(start, start + slotBytes), start / slotBytes + 1);
      if (heartbeat !== undefined) heartbeats.push(heartbeat);
    }
    return heartbeats;
  }

  close(): void {
    closeSync(this.#descriptor);
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

/** Opens for reading and writing without truncating. */
function openOrCreate(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  closeSync(openSync(path, 'a', privateFileMode));
  return openSync(path, 'r+');
}

function slotOffset(instance: InstanceId): number {
  return (instance - 1) * slotBytes;
}

function encodeSlot({ claim, expiresAtMs, epoch, pid }: LeaseHeartbeat): Buffer {
  const slot = Buffer.alloc(slotBytes);
  slot.writeDoubleLE(expiresAtMs, 0);
  slot.writeDoubleLE(claim, 8);
  slot.writeDoubleLE(epoch, 16);
  slot.writeUInt32LE(pid, 24);
  slot.writeUInt32LE(crc32(slot.subarray(0, checkedBytes)), checkedBytes);
  return slot;
}

function decodeSlot(slot: Buffer, instance: InstanceId): LeaseHeartbeat | undefined {
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
