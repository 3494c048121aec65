import { statfs } from 'node:fs/promises';
import type { PointParams, Scenario } from '@shardlab/contract';
import { LabError } from '../errors.ts';

/** Logs, catalogs and partitions made ahead of need, for each instance. */
const fixedBytesPerInstance = 128 * 1024 ** 2;
/** A stored message beside its payload, and the write-ahead log's copy of both. */
const messageOverheadBytes = 256;
const copies = 2;

/**
 * What a trial may need on disk at most, about: the backlog that it may have, twice, and the fixed part. A topic is taken
 * to be stored for each subscriber, as it is unsharded.
 */
export function trialBytesMax(scenario: Scenario, params: PointParams): number {
  const { instances, payloadBytes, backlog = 0, subscribers = 1 } = params;
  const stored = scenario.sweep.implementation.includes('unsharded') ? subscribers : 1;
  const messages = stored * (instances * scenario.workload.backlogMax + backlog);
  return instances * fixedBytesPerInstance + copies * messages * (payloadBytes + messageOverheadBytes);
}

/** Bytes that a process without privileges may still write on the file system of a folder. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Throws `DISK_SPACE_LOW`, naming both figures, if a trial might fill the disk. */
export function assertDiskSpace(options: { folder: string; needBytes: number; freeBytes: number }): void {
  const { folder, needBytes, freeBytes } = options;
  if (freeBytes >= needBytes) return;
  const mib = (bytes: number) => `${Math.round(bytes / 1024 ** 2).toLocaleString('en-US')} MiB`;
  throw new LabError('DISK_SPACE_LOW', {
    sentence: `A trial may need ${mib(needBytes)} in ${folder}, which has ${mib(freeBytes)} free`,
    details: { folder, needBytes, freeBytes },
  });
}
