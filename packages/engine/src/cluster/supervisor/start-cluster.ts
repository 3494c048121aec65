/** A cluster of processes on one machine, one for each instance, started and watched over by this process. */
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { LeaseFile } from '../../storage/lease-file.ts';
import { Membership } from '../../storage/membership.ts';
import { changeMembership } from '../change-membership.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import { readTopology } from '../read-topology.ts';
import type { Cluster, ClusterOptions, InstanceTopology, ProcessStats } from './cluster.ts';
import { InstanceChild } from './instance-child.ts';

/** What one process of a cluster does alone: it starts and ends the others. */
const supervisor = 'supervisor';

/**
 * Starts the processes and resolves when all serve. They end with this process, whatever ends it. A folder has one such
 * cluster at a time. Throws `INSTANCE_IN_USE`, `OPTIONS_INVALID`, and what opening an instance throws.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = new SupervisedCluster(options);
  try {
    await cluster.open();
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

class SupervisedCluster implements Cluster {
  readonly dir: string;
  readonly #options: ClusterOptions;
  readonly #membership: Membership;
  readonly #leases: LeaseFile;
  readonly #children = new Map<number, InstanceChild>();
  readonly #events: ClusterEvent[] = [];
  #claimed = false;
  #closing: Promise<void> | undefined;

  constructor(options: ClusterOptions) {
    checkOptions(options);
    this.dir = options.dir;
    this.#options = options;
    this.#membership = new Membership(options.dir, { busyMs: 0 });
    this.#leases = new LeaseFile(options.dir);
  }

  async open(): Promise<void> {
    await changeMembership(() => this.#membership.claimSingleton(supervisor));
    this.#claimed = true;
    const staying = this.#staying();
    const wanted = this.#options.instances ?? Math.max(1, staying.length);
    for (const instance of staying.slice(wanted)) {
      await changeMembership(() => this.#membership.removeMember(instance));
    }
    const kept = staying.slice(0, wanted);
    while (kept.length < wanted) kept.push(await this.#addMember());
    const children = kept.map((instance) => this.#startChild(instance));
    await Promise.all(children.map((child) => child.opened));
    // Only now: the first one up must not take the others for dead.
    for (const child of children) child.watch();
  }

  #startChild(instance: number): InstanceChild {
    const { instances: _count, execArgv = [], onEvent: _listener, ...options } = this.#options;
    const { writerSilentMsMax = limits.writerSilentMsDefault } = options;
    const child: InstanceChild = new InstanceChild({
      options: { ...options, instance, writerSilentMsMax },
      execArgv,
      onEvent: (event) => this.#tell(event),
      onEnded: ({ exitCode, signal }) => {
        if (this.#children.get(instance) === child) this.#children.delete(instance);
        this.#tell({
          ...this.#about('process:ended', child),
          ...(exitCode !== null && { exitCode }),
          ...(signal !== null && { signal }),
        });
      },
    });
    this.#children.set(instance, child);
    this.#tell(this.#about('process:started', child));
    return child;
  }

  #about(type: ClusterEvent['type'], { instance, pid }: { instance: number; pid: number }): ClusterEvent {
    return { type, atMs: Date.now(), instance, pid };
  }

  #tell(event: ClusterEvent): void {
    this.#events.push(event);
    if (this.#events.length > limits.clusterEventsKept) this.#events.shift();
    this.#options.onEvent?.(event);
  }

  topology(): InstanceTopology[] {
    return readTopology({ membership: this.#membership, leases: this.#leases, children: this.#children });
  }

  events(): ClusterEvent[] {
    return [...this.#events];
  }

  async stats(): Promise<ProcessStats[]> {
    const answers = await Promise.all([...this.#children.values()].map((child) => child.stats()));
    return answers.filter((stats) => stats !== undefined).sort((a, b) => a.instance - b.instance);
  }

  kill(instance: number, signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#running(instance).signal(signal);
  }

  pause(instance: number): void {
    const child = this.#running(instance);
    child.signal('SIGSTOP');
    this.#tell(this.#about('process:paused', child));
  }

  resume(instance: number): void {
    const child = this.#running(instance);
    child.signal('SIGCONT');
    this.#tell(this.#about('process:resumed', child));
  }

  async stop(instance: number): Promise<void> {
    await this.#running(instance).close();
  }

  async start(instance: number): Promise<void> {
    this.#assertOpen();
    if (!this.#membership.members().some((member) => member.instance === instance && !member.leaving)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    if (this.#children.has(instance)) throw new QueueError('PROCESS_RUNNING', { details: { instance } });
    const child = this.#startChild(instance);
    await child.opened;
    child.watch();
  }

  async add(): Promise<number> {
    this.#assertOpen();
    const instance = await this.#addMember();
    this.#tell(this.#about('instance:added', { instance, pid: process.pid }));
    try {
      await this.start(instance);
    } catch (error) {
      await changeMembership(() => this.#membership.removeMember(instance));
      throw error;
    }
    return instance;
  }

  async #addMember(): Promise<number> {
    const staying = this.#staying();
    for (let instance = 1; instance <= limits.instancesMax; instance += 1) {
      if (staying.includes(instance)) continue;
      await changeMembership(() => this.#membership.addMember(instance));
      return instance;
    }
    throw new QueueError('OPTIONS_INVALID', {
      sentence: `A cluster has at most ${limits.instancesMax} instances`,
    });
  }

  async remove(instance: number): Promise<void> {
    this.#assertOpen();
    if (!this.#staying().includes(instance)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    if (
      ![...this.#children.values()].some((child) => child.instance !== instance && child.state === 'running')
    ) {
      throw new QueueError('OPTIONS_INVALID', {
        sentence: `Instance ${instance} has the last process that runs: nobody could serve what it holds`,
      });
    }
    await changeMembership(() => this.#membership.removeMember(instance));
    this.#tell(this.#about('instance:removed', { instance, pid: process.pid }));
    await this.#children.get(instance)?.close();
  }

  async resize(instances: number): Promise<void> {
    checkCount(instances);
    for (const surplus of this.#staying().slice(instances).reverse()) await this.remove(surplus);
    while (this.#staying().length < instances) await this.add();
  }

  /** Members that are not about to leave, in order. */
  #staying(): number[] {
    return this.#membership
      .members()
      .filter(({ leaving }) => !leaving)
      .map(({ instance }) => instance);
  }

  #running(instance: number): InstanceChild {
    const child = this.#children.get(instance);
    if (child !== undefined) return child;
    const known = this.#membership.members().some((member) => member.instance === instance);
    throw new QueueError(known ? 'PROCESS_NOT_RUNNING' : 'INSTANCE_NOT_FOUND', { details: { instance } });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new QueueError('INSTANCE_CLOSED', { sentence: 'The cluster is closed' });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const children = [...this.#children.values()];
    await Promise.all(children.map((child) => child.retire()));
    await Promise.all(children.map((child) => child.close()));
    if (this.#claimed) await changeMembership(() => this.#membership.releaseSingleton(supervisor));
    this.#leases.close();
    this.#membership.close();
  }
}

function checkOptions({ instances, writerSilentMsMax }: ClusterOptions): void {
  if (instances !== undefined) checkCount(instances);
  const [least, most] = [limits.writerSilentMsMin, limits.writerSilentMsMax];
  if (writerSilentMsMax === undefined || (writerSilentMsMax >= least && writerSilentMsMax <= most)) return;
  throw new QueueError('OPTIONS_INVALID', { sentence: `writerSilentMsMax must be ${least} to ${most}` });
}

function checkCount(instances: number): void {
  if (Number.isInteger(instances) && instances >= 1 && instances <= limits.instancesMax) return;
  throw new QueueError('OPTIONS_INVALID', { sentence: `instances must be 1 to ${limits.instancesMax}` });
}
