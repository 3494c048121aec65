/** The folder that a run's trials lie in. It names its process, so that the next run can remove what a killed one left. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LabError } from '../errors.ts';

const namePattern = /^shardlab-run-(\d+)-/;

/** Makes the folder in `parent`, which is made too. Throws `DATA_FOLDER_UNUSABLE`. */
export async function makeScratchFolder(parent: string): Promise<string> {
  try {
    await mkdir(parent, { recursive: true });
    await removeAbandoned(parent);
    return await mkdtemp(join(parent, `shardlab-run-${process.pid}-`));
  } catch (cause) {
    throw new LabError('DATA_FOLDER_UNUSABLE', {
      sentence: `The data folder ${parent} cannot be made or written: ${(cause as Error).message}`,
      details: { folder: parent },
      cause,
    });
  }
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(namePattern.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    // Somebody else's folder may not be ours to remove; that is no reason not to run.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
