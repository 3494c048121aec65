/** The folder of a run's trials. Its name contains the process id, so that the next run can remove what a killed run left behind. */
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LabError } from '../errors/errors.ts';

const namePattern = /^shardlab-run-(\d+)-/;

/** Creates the folder in `parent`, and `parent` if missing. Throws `DATA_FOLDER_UNUSABLE`. */
export async function makeScratchFolder(parent: string): Promise<string> {
  try {
    await mkdir(parent, { recursive: true });
    await removeAbandoned(parent);
    const folder = await mkdtemp(join(parent, `shardlab-run-${process.pid}-`));
    await chmod(folder, 0o711); // servers that run as another user reach their folders in it
    return folder;
  } catch (cause) {
    throw new LabError('DATA_FOLDER_UNUSABLE', {
      message: `The folder for trials, “${parent}”, cannot be created or written: ${(cause as Error).message}`,
      details: { folder: parent },
      cause,
    });
  }
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(namePattern.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    // The folder may belong to another user; failing to remove it must not stop the run.
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
