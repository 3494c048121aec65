/**
 * What the processes of a cluster say about themselves: a plain file of one page with a slot for each instance. Half of a slot is the
 * heartbeat of the instance's own process, which a thread of that process writes every quarter of a second. The other half is about
 * the hosting of the instance, and is written by whichever process hosts it, when that changes. All others read both. The file is plain
 * because a heartbeat must not wait for a lock that a stopped process holds, nor for a sync, nor need space on a full disk (the page is
 * overwritten in place). Which process hosts an instance must be exact, so that is a transaction of the catalog.
 *
 *     hosting    f64 claim · f64 epoch (0: opening) · f64 unhealthy since (monotonic ms; 0: healthy) · u32 failed · u32 CRC-32
 *     heartbeat  f64 expires at (monotonic ms) · f64 turnless ms · u32 pid · … · u32 CRC-32
 */

import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { Heartbeat } from '../../model/failure-detector.ts';
import type { ClaimNumber, Epoch, InstanceId } from '../../model/ids.ts';
import { makePrivate, privateFileMode } from '../private-files.ts';

const halfBytes = 32;
const slotBytes = 2 * halfBytes;
/** The checksum is the last word of a half. */
const checkedBytes = halfBytes - 4;
const fileBytes = slotBytes * limits.instancesMax;

export const leasesPath = (dir: string): string => join(dir, 'leases');

/** What the host of an instance says about it. */
export interface Hosting {
  instance: InstanceId;
  /** The claim under which it is hosted, or was last. */
  claim: ClaimNumber;
  /** Epoch of the instance's file; 0 while the file is being opened. */
  epoch: Epoch;
  /** Since when the host cannot serve it and wants to be replaced, monotonic ms; 0 while it is healthy. */
  unhealthySinceMs: number;
  /** The instance failed under this claim, so the claim's end is no orderly one. */
  failed: boolean;
}

export interface Leases {
  hostings: Hosting[];
  heartbeats: Heartbeat[];
}

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

  writeHosting(hosting: Hosting): void {
    this.#write(slotOffset(hosting.instance), encodeHosting(hosting));
  }

  /** `instance`: whose own process this is. */
  writeHeartbeat(instance: InstanceId, heartbeat: Heartbeat): void {
    this.#write(slotOffset(instance) + halfBytes, encodeHeartbeat(heartbeat));
  }

  /** Blocks for a write into the page cache: other processes can read it then. */
  #write(offset: number, half: Buffer): void {
    try {
      writeSync(this.#descriptor, half, 0, halfBytes, offset);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** All that can be read. What is being written at this moment may be missing. */
  read(): Leases {
    let bytes: number;
    try {
      bytes = readSync(this.#descriptor, this.#buffer, 0, fileBytes, 0);
    } catch (error) {
      throw this.#failure(error);
    }
    const leases: Leases = { hostings: [], heartbeats: [] };
    for (let start = 0; start + halfBytes <= bytes; start += halfBytes) {
      const half = checked(this.#buffer.subarray(start, start + halfBytes));
      if (half === undefined) continue;
      if (start % slotBytes !== 0) leases.heartbeats.push(decodeHeartbeat(half));
      else leases.hostings.push(decodeHosting(half, start / slotBytes + 1));
    }
    return leases;
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

function encodeHosting({ claim, epoch, unhealthySinceMs, failed }: Hosting): Buffer {
  const half = Buffer.alloc(halfBytes);
  half.writeDoubleLE(claim, 0);
  half.writeDoubleLE(epoch, 8);
  half.writeDoubleLE(unhealthySinceMs, 16);
  half.writeUInt32LE(failed ? 1 : 0, 24);
  return withChecksum(half);
}

function decodeHosting(half: Buffer, instance: InstanceId): Hosting {
  return {
    instance,
    claim: half.readDoubleLE(0),
    epoch: half.readDoubleLE(8),
    unhealthySinceMs: half.readDoubleLE(16),
    failed: half.readUInt32LE(24) === 1,
  };
}

function encodeHeartbeat({ expiresAtMs, turnlessMs, pid }: Heartbeat): Buffer {
  const half = Buffer.alloc(halfBytes);
  half.writeDoubleLE(expiresAtMs, 0);
  half.writeDoubleLE(turnlessMs, 8);
  half.writeUInt32LE(pid, 16);
  return withChecksum(half);
}

function decodeHeartbeat(half: Buffer): Heartbeat {
  return {
    expiresAtMs: half.readDoubleLE(0),
    turnlessMs: half.readDoubleLE(8),
    pid: half.readUInt32LE(16),
  };
}

function withChecksum(half: Buffer): Buffer {
  half.writeUInt32LE(crc32(half.subarray(0, checkedBytes)), checkedBytes);
  return half;
}

/** Undefined if it was never written, is being written, or is damaged. The checksum of nothing but zeroes is not zero. */
function checked(half: Buffer): Buffer | undefined {
  return half.readUInt32LE(checkedBytes) === crc32(half.subarray(0, checkedBytes)) ? half : undefined;
}
