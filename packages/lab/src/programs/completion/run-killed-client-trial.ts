/**
 * Shows whether durability is real, as the killed trial of the program `queue` does: kills the server, if the system has one, and
 * then the client while it enqueues and dequeues, starts both again on the same files, and compares what is there with the
 * client's book.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { KilledTrial } from '@shardlab/contract';
import { readBookFolder } from '../../integrity/book.ts';
import { judgeKilled } from '../../integrity/judge-killed.ts';
import type { Server } from '../../systems/driver/server.ts';
import type { System } from '../../systems/system.ts';
import { systemOf } from '../../systems/systems.ts';
import { killedLoadMsOf } from '../../trial/killed-load.ts';
import type { KilledTrialOptions } from '../../trial/trial.ts';
import { onSystem } from '../on-system.ts';
import type { ClientJob } from './client-job.ts';
import { recoveryOperations } from './killed-work.ts';
import { type ClientTrial, jobOf, withClient } from './run-client-trial.ts';

/** Milliseconds without a delivery after which the new client gives up what is missing. */
const drainMs = 5_000;
const graceMs = 60_000;

export interface KilledClientTrial extends Omit<ClientTrial, 'work'> {
  atOnce: boolean;
}

/** Rejects as `runClientTrial` does, and if the new processes cannot open the files. */
export async function runKilledClientTrial(
  options: KilledTrialOptions,
  given: KilledClientTrial,
): Promise<KilledTrial> {
  const { trial, phases, dir, signal } = options;
  const { threads, atOnce } = given;
  const system = systemOf(trial.system);
  const loadMs = killedLoadMsOf(phases);
  const limitMs = loadMs + drainMs + (options.graceMs ?? graceMs);
  const [systemDir, bookDir] = [join(dir, 'system'), join(dir, 'books')];
  const load: ClientTrial = { ...given, work: { kind: 'until-killed', threads, atOnce } };
  const recovery: ClientTrial = { ...given, work: { kind: 'recovery', threads } };
  const jobFor = (client: ClientTrial, server: Server | null): ClientJob => ({
    ...jobOf({ ...options, dir: systemDir }, client, server),
    drainMs,
  });
  try {
    await mkdir(bookDir, { recursive: true });
    const recovered = await onSystem(
      system,
      { dir: systemDir, limitMs, signal },
      async (server, reached, { kill, startAgain }) => {
        const job = { ...jobFor(load, server), book: join(bookDir, 'client') };
        await withClient(job, async (client) => {
          await Promise.race([client.receive('opened'), reached]);
          // A client that fails rejects here; none ends its work before the kill.
          await Promise.race([pause(loadMs), client.receive('result'), reached]);
          // A client that loses its server acknowledges nothing more; its own kill follows.
          await kill();
        });
        await options.onKilled?.(systemDir);
        return await withClient(afterKill(jobFor(recovery, await startAgain())), async (client) => {
          const { result } = await Promise.race([client.receive('result'), reached]);
          await client.disconnect();
          return result.ledger;
        });
      },
    );
    return judgeKilled({
      durability: durabilityOf(system),
      sources: 1,
      books: await readBookFolder(bookDir),
      recovered: [[recovered]],
      unseenMax: system.atMostOnce === true ? threads : 0,
    });
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** How a system keeps messages, in a word. */
export const durabilityOf = ({ durability, synced }: System): string =>
  durability || (synced ? 'durable' : 'memory');

/** Finds the queues as they are, and enqueues nothing. */
function afterKill(job: ClientJob): ClientJob {
  const client = { ...job.client, createsQueue: false, enqueuers: 0, operations: recoveryOperations };
  return { ...job, order: 'recovered', client };
}
