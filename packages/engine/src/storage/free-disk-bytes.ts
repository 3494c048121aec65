/** Room on the disk of a folder. */
import { statfs } from 'node:fs';

/** Bytes that this user may still write on the disk of the folder. Does not block the thread, however slow the disk is. */
export function freeDiskBytes(dir: string): Promise<number> {
  return new Promise((resolve, reject) => {
    statfs(dir, (error, stats) => {
      if (error === null) resolve(stats.bavail * stats.bsize);
      else reject(error);
    });
  });
}
