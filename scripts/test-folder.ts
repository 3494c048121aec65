/**
 * Where tests keep their files: on the memory disk if this machine has one with enough room, else where temporary files
 * go. What the tests prove is the same on both, since a killed process loses nothing that it wrote; but on a disk they
 * wait most of their time for syncs. The kills of `npm run torture` and the bench use the disk.
 */
import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memoryDisk = '/dev/shm';
const prefix = 'shardlab-tests-';
/** Least free space of the memory disk. In containers it often has only 64 MB in total. */
const roomBytes = 4 * 1024 ** 3;

/** Creates a folder that exists until this process ends, and removes folders that killed runs have left. */
export function makeTestFolder(): string {
  if (!hasRoom()) return tmpdir();
  for (const name of readdirSync(memoryDisk)) {
    if (name.startsWith(prefix) && !isRunning(Number(name.slice(prefix.length))))
      rmSync(join(memoryDisk, name), { recursive: true, force: true });
  }
  const folder = join(memoryDisk, `${prefix}${process.pid}`);
  if (mkdirSync(folder, { recursive: true }) !== undefined)
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryDisk);
    return bavail * bsize >= roomBytes;
  } catch {
    return false; // this machine has no memory disk
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
