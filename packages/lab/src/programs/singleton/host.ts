/** The process of a trial of the program `singleton`: it runs a cluster, calls its service as two clients, and does the faults. */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type Cluster,
  type ClusterClient,
  connectCluster,
  type ServiceInfo,
  type ServiceSpec,
  startCluster,
} from '@shardlab/engine';
import { LabError } from '../../errors/errors.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { parseJournal } from './journal.ts';
import type { Fault, Move, SingletonJob, SingletonResult } from './singleton-job.ts';

const module = fileURLToPath(new URL('./counted-service.ts', import.meta.url));
const preferred = 1;
/** A service that is not there by then never will be. */
const moveMsMax = 30_000;
const pollMs = 5;
/** A hung process is woken about when its lease, of a second, lapses: before, while and after it is replaced. */
const wakeAfterMs = [900, 1_050, 1_200, 1_350] as const;

class Trial {
  readonly #job: SingletonJob;
  readonly #cluster: Cluster;
  readonly #clients: readonly [ClusterClient, ClusterClient];
  readonly #moves: Move[] = [];

  constructor(job: SingletonJob, cluster: Cluster, clients: readonly [ClusterClient, ClusterClient]) {
    this.#job = job;
    this.#cluster = cluster;
    this.#clients = clients;
  }

  /** Each client has the process of an instance in mind; only without a service for the whole cluster does that matter. */
  #nameFor(client: 0 | 1): string {
    return this.#job.perProcess ? `counter-${client + 1}` : 'counter';
  }

  async #call(client: 0 | 1, call: string, argument: number | null = null): Promise<number> {
    return Number(await this.#clients[client].callService(this.#nameFor(client), call, argument));
  }

  async #service(): Promise<ServiceInfo | undefined> {
    const services = await this.#clients[1].services().catch(() => []);
    return services.find(({ name }) => name === this.#nameFor(0));
  }

  /**
   * Resolves with the service once it is active as required; with undefined if that never happens. While an instance restarts, it
   * is unknown which process has the service, although it is active.
   */
  async #whenActive(fits: (service: ServiceInfo) => boolean): Promise<ServiceInfo | undefined> {
    const fromMs = Date.now();
    while (Date.now() - fromMs < moveMsMax) {
      const service = await this.#service();
      if (service?.status === 'active' && fits(service)) return service;
      await pause(pollMs);
    }
    return undefined;
  }

  async #activeService(): Promise<ServiceInfo> {
    const service = await this.#whenActive(() => true);
    if (service !== undefined) return service;
    throw new LabError('WORKER_FAILED', { message: `The service had no holder for ${moveMsMax} ms` });
  }

  async run(): Promise<Omit<SingletonResult, 'journal' | 'endedAtMs'>> {
    const startedAtMs = Date.now();
    const firstHolder = (await this.#activeService()).holder.instance;
    await this.#call(0, 'add', 8);
    const seenByOther = await this.#call(1, 'get');
    const returnedMs = await this.#doFaults();
    const seenAfterMove = this.#moves.length === 0 ? undefined : await this.#call(1, 'get');
    const history = (await this.#whenActive(() => true))?.history ?? [];
    return {
      firstHolder,
      seenByOther,
      seenAfterMove,
      moves: this.#moves,
      returnedMs,
      history,
      startedAtMs,
    };
  }

  async #doFaults(): Promise<number | undefined> {
    const { fault, measureMs, killEveryMs } = this.#job;
    const untilMs = Date.now() + measureMs;
    if (fault === 'none') {
      await pause(measureMs);
      return undefined;
    }
    if (fault === 'kills') {
      while (Date.now() < untilMs) {
        const beganMs = Date.now();
        await this.#fault('kills');
        await pause(Math.max(0, killEveryMs - (Date.now() - beganMs)));
      }
      return undefined;
    }
    if (fault === 'wake') {
      for (let turn = 0; Date.now() < untilMs || turn < wakeAfterMs.length; turn += 1) {
        await this.#hangAndWake(wakeAfterMs[turn % wakeAfterMs.length]!);
        await this.#returnToPreferred();
      }
      return undefined;
    }
    await this.#fault(fault);
    return await this.#returnToPreferred();
  }

  /** Does a fault to the process that has the service, and waits until another opening has it. */
  async #fault(fault: Exclude<Fault, 'none' | 'wake'>): Promise<void> {
    const { epoch, holder } = await this.#activeService();
    const atMs = Date.now();
    if (fault === 'kills')
      process.kill(holder.pid, 'SIGKILL'); // from outside: it is started again
    else if (fault === 'kill') this.#cluster.kill(holder.instance);
    else if (fault === 'hang') this.#cluster.pause(holder.instance);
    else void this.#cluster.stop(holder.instance);
    const moved = await this.#whenActive((service) => service.epoch > epoch);
    this.#moves.push({ fault, atMs, gapMs: gapSince(moved, { epoch, atMs }) });
  }

  async #hangAndWake(afterMs: number): Promise<void> {
    const { epoch, holder } = await this.#activeService();
    const atMs = Date.now();
    this.#cluster.pause(holder.instance);
    await pause(afterMs);
    try {
      process.kill(holder.pid, 'SIGCONT');
    } catch {
      // It was killed and replaced already.
    }
    const service = await this.#activeService();
    // One that woke in time keeps the service.
    if (service.epoch > epoch)
      this.#moves.push({ fault: 'wake', atMs, gapMs: gapSince(service, { epoch, atMs }) });
  }

  /** Starts the preferred process if it is down. Resolves with the milliseconds until it has the service. */
  async #returnToPreferred(): Promise<number> {
    const fromMs = Date.now();
    while (Date.now() - fromMs < moveMsMax) {
      const isDown = this.#cluster
        .topology()
        .some(({ instance, process }) => instance === preferred && !process);
      if (isDown) await this.#cluster.start(preferred).catch(() => undefined);
      const service = await this.#service();
      if (service?.status === 'active' && service.holder.instance === preferred) return Date.now() - fromMs;
      await pause(pollMs);
    }
    return -1;
  }
}

/** Milliseconds from a fault until the next activation, as that one noted it; -1 if there was none. */
function gapSince(
  service: ServiceInfo | undefined,
  { epoch, atMs }: { epoch: number; atMs: number },
): number {
  const next = service?.history.find((tenure) => tenure.epoch > epoch);
  return next === undefined ? -1 : Math.max(0, next.activatedAtMs - atMs);
}

function servicesOf({ perProcess, kept, instances }: SingletonJob, journal: string): ServiceSpec[] {
  const options = { journal, kept };
  if (!perProcess) return [{ name: 'counter', preferred, module, options }];
  return Array.from({ length: instances }, (_, index) => ({
    name: `counter-${index + 1}`,
    preferred: index + 1,
    module,
    options,
  }));
}

async function runJob(job: SingletonJob): Promise<void> {
  const journal = join(job.dir, 'journal');
  const dir = join(job.dir, 'cluster');
  await mkdir(dir, { recursive: true });
  const cluster = await startCluster({ dir, instances: job.instances, services: servicesOf(job, journal) });
  const clients = [connectCluster({ dir }), connectCluster({ dir })] as const;
  const result = await new Trial(job, cluster, clients).run();
  for (const client of clients) await client.close();
  await cluster.close();
  sendToTrial({
    type: 'result',
    result: {
      ...result,
      endedAtMs: Date.now(),
      journal: parseJournal(readFileSync(journal, 'utf8')),
    } satisfies SingletonResult,
  });
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: SingletonJob }) => {
  runJob(job).catch(failTrial);
});
