/** Gives a trial its folders and its server, and leaves nothing of either. */
import { chmod, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { LabError } from '../errors/errors.ts';
import type { Server, ServerOptions } from '../systems/driver/server.ts';
import type { System } from '../systems/system.ts';
import { makeScratchFolder } from '../trial/scratch-folder.ts';
import { TrialLimit } from '../trial/trial-limit.ts';

export interface SystemUse {
  /** Scratch folder on the tested disk: created, and always removed. */
  dir: string;
  limitMs: number;
  signal?: AbortSignal | undefined;
}

/** What a trial that kills its processes does with its server, if it has one. */
export interface ServerKill {
  /** Resolves when the server is dead. */
  kill(): Promise<void>;
  /** Starts another one on the files of the killed one. */
  startAgain(): Promise<Server | null>;
}

/**
 * Runs the work on a new server, if the system has one. Rejects with `WORKER_FAILED` after the limit or if the server failed, and
 * with the signal's reason if it aborts; the work itself must end its processes when `reached` rejects.
 */
export async function onSystem<T>(
  system: System,
  { dir, limitMs, signal }: SystemUse,
  work: (server: Server | null, reached: Promise<never>, serverKill: ServerKill) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new TrialLimit(limitMs, signal);
  const socketDir = await makeScratchFolder(tmpdir(), 'trial');
  let server: Server | null = null;
  try {
    await mkdir(dir, { recursive: true });
    // A server may run as another user, who must reach both.
    for (const folder of [dir, socketDir]) await chmod(folder, 0o755);
    const { durability, instances } = system;
    const options: ServerOptions = { dir, socketDir, durability, instances };
    const start = async () => (await system.server?.start(options)) ?? null;
    const first = await start();
    server = first;
    return await work(first, limit.reached, {
      kill: async () => first?.stop('SIGKILL'),
      startAgain: async () => {
        server = await start();
        return server;
      },
    });
  } catch (error) {
    if (server?.failure == null || signal?.aborted === true) throw error;
    throw new LabError('WORKER_FAILED', { message: `The server failed: ${server.failure}`, cause: error });
  } finally {
    limit.clear();
    await server?.stop();
    await rm(socketDir, { recursive: true, force: true });
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
