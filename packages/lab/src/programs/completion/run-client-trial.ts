/** Runs a trial with one client process, which does the work of the program on a new server, if the system needs one. */
import { fileURLToPath } from 'node:url';
import type { Server } from '../../systems/driver/server.ts';
import { systemOf } from '../../systems/systems.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { ClientProcess } from '../client-process.ts';
import { integrityOf } from '../counted-integrity.ts';
import { onSystem } from '../on-system.ts';
import type { ClientJob, ClientWork, FromClient, MeasuredWork, ToClient } from './client-job.ts';
import type { Sampled } from './client-samples.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));

/** Starting, closing and the slowest of disks take less; after this time something hangs. */
const graceMsDefault = 120_000;
/** The slowest system syncs twice for a message. */
const msPerMessageMax = 50;

export interface ClientTrial<Work extends ClientWork = ClientWork> extends Pick<ClientJob, 'payloadBytes'> {
  work: Work;
  /** Enqueuers, and as many dequeuers. */
  threads: number;
  queues: number;
  messagesMax: number;
}

/**
 * Rejects with `WORKER_FAILED` if the client fails or hangs, and with the signal's reason if it aborts. In each case no
 * process and no file of the trial remains.
 */
export function runClientTrial(
  options: TrialOptions,
  given: ClientTrial<MeasuredWork>,
): Promise<TrialOutcome> {
  const { trial, dir, signal, onTick } = options;
  const { index, program, system, params } = trial;
  const onSample = ({ phase, sample }: Sampled) =>
    onTick?.({ atMs: 0, trial: index, program, system, params, phase, instances: [sample] });
  const use = { dir, limitMs: limitMsOf(given.work, options), signal };
  return onSystem(systemOf(trial.system), use, (server, reached) =>
    withClient(
      jobOf(options, given, server),
      async (client) => {
        options.onOpen?.([client.pid!]);
        const { result } = await Promise.race([client.receive('result'), reached]);
        await client.disconnect();
        return measuredOutcome({
          figures: result.figures,
          integrity: integrityOf([result.ledger], result.depth),
          measuredMs: result.measuredMs,
          waits: result.waits,
          stated: result.stated,
        });
      },
      onSample,
    ),
  );
}

/** Starts a client process for a job, and kills it if it still runs when `use` is done. */
export async function withClient<T>(
  job: ClientJob,
  use: (client: ClientProcess<FromClient, ToClient>) => Promise<T>,
  onSample: (sampled: Sampled) => void = () => {},
): Promise<T> {
  const client = new ClientProcess<FromClient, ToClient>(clientFile, (message) => {
    if (message.type === 'sample') onSample(message);
    return message.type === 'sample';
  });
  try {
    client.send({ type: 'job', job });
    return await use(client);
  } finally {
    await client.kill();
  }
}

export function jobOf(
  { trial, scenario, phases, dir }: Pick<TrialOptions, 'trial' | 'scenario' | 'phases' | 'dir'>,
  { threads, queues, messagesMax, work, payloadBytes }: ClientTrial,
  server: Server | null,
): ClientJob {
  const { driver, order, durability } = systemOf(trial.system);
  return {
    driver,
    order,
    client: {
      dir,
      endpoints: server?.endpoints ?? [],
      durability,
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
    seed: scenario.seed,
    nonce: (process.pid << 12) ^ trial.index,
    drainMs: phases.drainMs,
    serverPids: server?.pids ?? [],
    book: null,
  };
}

function limitMsOf(work: MeasuredWork, { phases, graceMs }: TrialOptions): number {
  const messages = work.kind === 'completion' ? work.messages : work.attempts;
  const { warmupMs, measureMs, drainMs } = phases;
  return warmupMs + measureMs + drainMs + (graceMs ?? graceMsDefault + messages * msPerMessageMax);
}
