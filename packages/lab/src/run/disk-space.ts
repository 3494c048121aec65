import { statfs } from 'node:fs/promises';
import type { PointParams, Scenario } from '@shardlab/contract';
import { LabError } from '../errors.ts';

/** Write-ahead logs, catalogs and partitions created ahead of need, per instance. */
const fixedBytesPerInstance = 128 * 1024 ** 2;
/** Overhead of a stored message beyond its payload, and the copies in the write-ahead log. */
const messageOverheadBytes = 256;
const copies = 2;

/**
 * Approximate maximum disk space of a trial: twice its maximum backlog plus the fixed part. A topic is assumed to be
 * stored once per subscriber, as it is when unsharded.
 */
export function trialBytesMax(scenario: Scenario, params: PointParams): number {
  const { instances, payloadBytes, backlog = 0, subscribers = 1 } = params;
  const stored = scenario.sweep.implementation.includes('unsharded') ? subscribers : 1;
  const messages = stored * (instances * scenario.workload.backlogMax + backlog);
  return instances * fixedBytesPerInstance + copies * messages * (payloadBytes + messageOverheadBytes);
}

/** Bytes that an unprivileged process can still write on the folder's file system. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Throws `DISK_SPACE_LOW`, with required and free space, if a trial might fill the disk. */
export function assertDiskSpace(options: { folder: string; needBytes: number; freeBytes: number }): void {
  const { folder, needBytes, freeBytes } = options;
  if (freeBytes >= needBytes) return;
  const mib = (bytes: number) => `${Math.round(bytes / 1024 ** 2).toLocaleString('en-US')} MiB`;
  throw new LabError('DISK_SPACE_LOW', {
    message: `A trial may need ${mib(needBytes)} in ${folder}, but only ${mib(freeBytes)} are free`,
    details: { folder, needBytes, freeBytes },
  });
}
