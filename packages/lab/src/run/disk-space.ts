import { statfs } from 'node:fs/promises';
import { LabError } from '../errors/errors.ts';

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
