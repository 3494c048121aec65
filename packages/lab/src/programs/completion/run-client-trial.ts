/** Runs a trial with one client process: a new folder, a new server if the system needs one, and the work of the program. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Integrity } from '@shardlab/contract';
import { LabError } from '../../errors.ts';
import type { Server } from '../../systems/server.ts';
import { systemOf } from '../../systems/systems.ts';
import { type LedgerReport, mergeLedgers } from '../../trial/ledger.ts';
import type { TrialOptions, TrialOutcome } from '../../trial/trial.ts';
import type { ClientJob, ClientWork } from './client-job.ts';
import { ClientProcess } from './client-process.ts';

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
export async function runClientTrial(options: TrialOptions, given: ClientTrial): Promise<TrialOutcome> {
  const { trial, phases, dir, signal } = options;
  signal?.throwIfAborted();
  const system = systemOf(trial.system);
  const { threads, queues, messagesMax, work, payloadBytes } = given;
  const hurdle = Promise.withResolvers<never>();
  hurdle.promise.catch(() => {});
  const onAbort = () => hurdle.reject(signal!.reason);
  const limitMs = limitMsOf(work, options);
  const deadline = setTimeout(() => hurdle.reject(hung(limitMs)), limitMs);
  const socketDir = await mkdtemp(join(tmpdir(), 'shardlab-trial-'));
  let server: Server | null = null;
  let client: ClientProcess | null = null;
  try {
    signal?.addEventListener('abort', onAbort, { once: true });
    await mkdir(dir, { recursive: true });
    // A server may run as another user, who must reach both.
    for (const folder of [dir, socketDir]) await chmod(folder, 0o755);
    server =
      (await system.server?.start({ dir, socketDir, durability: system.durability, instances: 1 })) ?? null;
    client = new ClientProcess();
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
    const { result } = await Promise.race([client.receive('result'), hurdle.promise]);
    await client.disconnect();
    return {
      figures: result.figures,
      provenance: 'measured',
      latencies: {},
      byInstance: {},
      waits: [],
      integrity: integrityOf(result.ledger, result.depth),
      measuredMs: result.measuredMs,
    };
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', onAbort);
    await client?.kill();
    await server?.stop();
    await rm(socketDir, { recursive: true, force: true });
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * What remains is counted by the system, not read: messages that are neither consumed nor counted are lost, and what is
 * counted beyond those that were not consumed was consumed and is still there.
 */
export function integrityOf(ledger: LedgerReport, depth: number): Integrity {
  const { lost: missing, duplicated, ...rest } = mergeLedgers([ledger]);
  return {
    ...rest,
    lost: Math.max(0, missing - depth),
    duplicated: duplicated + Math.max(0, depth - missing),
    left: depth,
  };
}

function limitMsOf(work: ClientWork, { phases, graceMs }: TrialOptions): number {
  const messages = work.kind === 'completion' ? work.messages : work.attempts;
  const { warmupMs, measureMs, drainMs } = phases;
  return warmupMs + measureMs + drainMs + (graceMs ?? graceMsDefault + messages * msPerMessageMax);
}

const hung = (limitMs: number) =>
  new LabError('WORKER_FAILED', {
    message: `The trial did not end within ${Math.round(limitMs / 1_000)} s`,
  });
