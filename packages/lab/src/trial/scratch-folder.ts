/**
 * The scratch folders of runs and their trials. A name has the process that made it, by its id and its start, since ids are given
 * again: in a container each process may have that of the one before. So what a killed process left behind is known as such, and the
 * next run removes it, or the next start of a server.
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LabError } from '../errors/errors.ts';

/** `run`: files of a run's trials. `trial`: sockets of the servers of a trial, whose paths must be short. */
type ScratchKind = 'run' | 'trial';

/** Earlier versions left the start out. */
const namePattern = /^shardlab-(?:run|trial)-(\d+)(?:\.([0-9a-z]+))?-/;

/** Creates the folder in `parent`, and `parent` if missing. Throws `DATA_FOLDER_UNUSABLE`. */
export async function makeScratchFolder(parent: string, kind: ScratchKind = 'run'): Promise<string> {
  try {
    await mkdir(parent, { recursive: true });
    await removeAbandonedScratch(parent);
    const start = startOf(process.pid) ?? unknownStart;
    const folder = await mkdtemp(join(parent, `shardlab-${kind}-${process.pid}.${start}-`));
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

/** Removes the scratch folders in `parent` whose process has ended. Rejects if there is a `parent` that cannot be read. */
export async function removeAbandonedScratch(parent: string): Promise<void> {
  for (const name of await namesIn(parent)) {
    const [, pid, start] = namePattern.exec(name) ?? [];
    if (pid === undefined || isInUse(Number(pid), start)) continue;
    // The folder may belong to another user; failing to remove it must not stop the run.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const unknownStart = '0';

function isInUse(pid: number, start: string | undefined): boolean {
  if (!isAlive(pid)) return false;
  const now = startOf(pid);
  return start === undefined || start === unknownStart || now === undefined || start === now;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The start of a process in ticks since the machine's, in 36 digits; undefined where the system does not say it. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]; // the name before it may have spaces
    return Number(ticks).toString(36);
  } catch {
    return undefined;
  }
}
