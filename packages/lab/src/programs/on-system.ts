/** Gives a trial its folders and its server, and leaves nothing of either. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from '../systems/driver/server.ts';
import type { System } from '../systems/system.ts';
import { TrialLimit } from '../trial/trial-limit.ts';

export interface SystemUse {
  /** Scratch folder on the tested disk: created, and always removed. */
  dir: string;
  limitMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Runs the work on a new server, if the system has one. Rejects with `WORKER_FAILED` after the limit, and with the signal's
 * reason if it aborts; the work itself must end its processes when `reached` rejects.
 */
export async function onSystem<T>(
  system: System,
  { dir, limitMs, signal }: SystemUse,
  work: (server: Server | null, reached: Promise<never>) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new TrialLimit(limitMs, signal);
  const socketDir = await mkdtemp(join(tmpdir(), 'shardlab-trial-'));
  let server: Server | null = null;
  try {
    await mkdir(dir, { recursive: true });
    // A server may run as another user, who must reach both.
    for (const folder of [dir, socketDir]) await chmod(folder, 0o755);
    const { durability, instances } = system;
    server = (await system.server?.start({ dir, socketDir, durability, instances })) ?? null;
    return await work(server, limit.reached);
  } finally {
    limit.clear();
    await server?.stop();
    await rm(socketDir, { recursive: true, force: true });
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
