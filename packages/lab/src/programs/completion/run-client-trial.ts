/** Runs a trial with one client process, which does the work of the program on a new server, if the system needs one. */
import { fileURLToPath } from 'node:url';
import { systemOf } from '../../systems/systems.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { ClientProcess } from '../client-process.ts';
import { integrityOf } from '../counted-integrity.ts';
import { onSystem } from '../on-system.ts';
import type { ClientJob, ClientWork, FromClient, ToClient } from './client-job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));

/** Starting, closing and the slowest of disks take less; after this time something hangs. */
const graceMsDefault = 120_000;
/** The slowest system syncs twice for a message. */
const msPerMessageMax = 50;

export interface ClientTrial extends Pick<ClientJob, 'payloadBytes' | 'work'> {
  /** Enqueuers, and as many dequeuers. */
  threads: number;
  queues: number;
  messagesMax: number;
}

/**
 * Rejects with `WORKER_FAILED` if the client fails or hangs, and with the signal's reason if it aborts. In each case no
 * process and no file of the trial remains.
 */
export function runClientTrial(options: TrialOptions, given: ClientTrial): Promise<TrialOutcome> {
  const { trial, phases, dir, signal } = options;
  const system = systemOf(trial.system);
  const { threads, queues, messagesMax, work, payloadBytes } = given;
  return onSystem(system, { dir, limitMs: limitMsOf(work, options), signal }, async (server, reached) => {
    const client = new ClientProcess<FromClient, ToClient>(clientFile);
    try {
      options.onOpen?.([client.pid!]);
      const job: ClientJob = {
        driver: system.driver,
        order: system.order,
        client: {
          dir,
          endpoints: server?.endpoints ?? [],
          durability: system.durability,
          process: 1,
          createsQueue: true,
          enqueuers: threads,
          dequeuers: threads,
          operations: 1,
          subscribers: 0,
          emulatedSyncMs: 0,
          queues,
          messagesMax,
        },
        work,
        payloadBytes,
        seed: options.scenario.seed,
        nonce: (process.pid << 12) ^ trial.index,
        drainMs: phases.drainMs,
        serverPids: server?.pids ?? [],
      };
      client.send({ type: 'job', job });
      const { result } = await Promise.race([client.receive('result'), reached]);
      await client.disconnect();
      return measuredOutcome({
        figures: result.figures,
        integrity: integrityOf([result.ledger], result.depth),
        measuredMs: result.measuredMs,
        waits: result.waits,
        stated: result.stated,
      });
    } finally {
      await client.kill();
    }
  });
}

function limitMsOf(work: ClientWork, { phases, graceMs }: TrialOptions): number {
  const messages = work.kind === 'completion' ? work.messages : work.attempts;
  const { warmupMs, measureMs, drainMs } = phases;
  return warmupMs + measureMs + drainMs + (graceMs ?? graceMsDefault + messages * msPerMessageMax);
}
