/**
 * Turns each new file of a folder into a message, once, and moves it to the subfolder `done`. Two places cannot change together,
 * so the order is: the message commits with a note that names the file; the file is moved; the move is synced; the next file's note
 * replaces it. The next active process finds the note and, before it takes any other file, moves that one without enqueuing it again.
 */
import { createReadStream } from 'node:fs';
import { lstat, mkdir, open, readdir, rename } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { Json, ServiceContext, ServiceSession, SingletonService } from '../../api/service.ts';
import { invalidOption, readNumber, readOptions, readText } from './read-options.ts';

/** A type and not an interface, since only a type is known to be JSON. */
type FolderState = {
  /** The file whose message is committed, until the next one's: see `noteOf`. */
  readonly taken: string | null;
  /** Files turned into messages. */
  readonly files: number;
  /** Files that were no message, and are in `failed`. */
  readonly failed: number;
};

interface FolderOptions {
  folder: string;
  queue: string;
  suffix: string;
  pollMs: number;
  settleMs: number;
}

/**
 * Options: `folder`, an absolute path; `queue`, a persistent sharded queue of the cluster; `suffix` of the names, default all;
 * `pollMs`, 10 to 3,600,000, default 1,000; `settleMs`, how long a file must not have changed, 0 to 3,600,000, default 1,000. The
 * payload is the file, up to 1 GiB, streamed if it is large; the property `file` is its name. A larger one goes to `failed`. Links,
 * folders and names that begin with a dot are left alone. Files written elsewhere and renamed into the folder are never seen half written.
 */
export function createFolderPoller(options: Json): SingletonService {
  const given = readOptions('folder-poller', options, ['folder', 'queue', 'suffix', 'pollMs', 'settleMs']);
  const folder = readText(given, 'folder');
  if (!isAbsolute(folder)) throw invalidOption('folder must be an absolute path');
  const range = { least: limits.folderPollMsMin, most: limits.folderPollMsMax };
  return new FolderPoller({
    folder,
    queue: readText(given, 'queue'),
    suffix: given.suffix === undefined ? '' : readText(given, 'suffix'),
    pollMs: readNumber(given, 'pollMs', { ...range, usual: limits.folderPollMsDefault }),
    settleMs: readNumber(given, 'settleMs', {
      least: 0,
      most: limits.folderSettleMsMax,
      usual: limits.folderSettleMsDefault,
    }),
  });
}

class FolderPoller implements SingletonService {
  readonly #options: FolderOptions;
  #running: Promise<void> = Promise.resolve();
  #context: ServiceContext<FolderState> | undefined;
  readonly calls = {
    /** `{ taken, files, failed }`. */
    status: (): Json => ({ ...this.#state }),
  };

  constructor(options: FolderOptions) {
    this.#options = options;
  }

  get #state(): FolderState {
    return this.#context?.state ?? { taken: null, files: 0, failed: 0 };
  }

  async activate(context: ServiceContext<FolderState>): Promise<void> {
    this.#context = context;
    for (const folder of ['', 'done', 'failed']) await makeFolder(join(this.#options.folder, folder));
    this.#running = this.#run(context).catch((error: unknown) => context.fail(error));
  }

  async deactivate(): Promise<void> {
    await this.#running;
  }

  async #run(context: ServiceContext<FolderState>): Promise<void> {
    const session = context.openSession();
    try {
      await this.#finishMove();
      while (!context.signal.aborted) {
        for (const name of await this.#names()) {
          if (context.signal.aborted) break;
          await this.#take(context, session, name);
        }
        await context.pause(this.#options.pollMs);
      }
    } finally {
      await session.close();
    }
  }

  /** Moves the file of the note if the process before has not, or makes sure that its move survives a power cut. */
  async #finishMove(): Promise<void> {
    const { taken } = this.#state;
    if (taken === null) return;
    const { folder } = this.#options;
    const name = taken.slice(0, taken.indexOf('/'));
    const found = await findFile(join(folder, name));
    if (found !== undefined && noteOf(name, found) === taken) await moveTo('done', folder, name);
    else await syncFolders('done', folder);
  }

  async #names(): Promise<string[]> {
    const { folder, suffix } = this.#options;
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && entry.name.endsWith(suffix))
      .map(({ name }) => name)
      .sort();
  }

  async #take(context: ServiceContext<FolderState>, session: ServiceSession, name: string): Promise<void> {
    const { folder, queue, settleMs } = this.#options;
    const path = join(folder, name);
    const found = await findFile(path);
    if (found === undefined || context.nowMs() - found.changedAtMs < settleMs) return;
    const { taken, files, failed } = this.#state;
    try {
      await session.enqueueStream(queue, {
        payload: createReadStream(path),
        bytes: found.bytes, // a file that grows during the upload fails, and is read again
        properties: { file: name },
      });
    } catch (error) {
      await session.rollback();
      if (!(error instanceof QueueError)) throw error;
      if (error.code === 'PAYLOAD_LENGTH_WRONG' || error.code === 'PAYLOAD_INCOMPLETE') return;
      if (error.code !== 'PAYLOAD_TOO_LARGE') throw error;
      await moveTo('failed', folder, name);
      session.writeState({ taken, files, failed: failed + 1 });
      await session.commit();
      return;
    }
    session.writeState({ taken: noteOf(name, found), files: files + 1, failed });
    await session.commit();
    await moveTo('done', folder, name);
  }
}

interface FoundFile {
  /** Tells the file from a later one of the same name. */
  identity: string;
  bytes: number;
  changedAtMs: number;
}

const noteOf = (name: string, { identity }: FoundFile) => `${name}/${identity}`;

/** Undefined if it is gone. */
async function findFile(path: string): Promise<FoundFile | undefined> {
  try {
    const { ino, size, mtimeMs } = await lstat(path);
    return { identity: `${ino}/${size}/${mtimeMs}`, bytes: size, changedAtMs: mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Moves a file into a subfolder, so that it is there after a power cut too. A file of the same name stays: the new one gets a
 * number. Only this process moves files there.
 */
async function moveTo(subfolder: string, folder: string, name: string): Promise<void> {
  let target = join(folder, subfolder, name);
  for (let number = 2; (await findFile(target)) !== undefined; number += 1)
    target = join(folder, subfolder, `${name}.${number}`);
  await rename(join(folder, name), target);
  await syncFolders(subfolder, folder);
}

/** The subfolder first: a power cut in between leaves a moved file in both folders, and not in neither. */
async function syncFolders(subfolder: string, folder: string): Promise<void> {
  for (const path of [join(folder, subfolder), folder]) {
    const handle = await open(path);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Its parent must be there: `recursive` never returns for a folder that cannot be made, as one below /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
