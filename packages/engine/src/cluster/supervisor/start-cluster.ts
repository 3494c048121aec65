/** Supervises a cluster on one machine: one process for each instance, started and ended by this process. */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { LeaseFile } from '../../storage/catalog/lease-file.ts';
import { Membership } from '../../storage/catalog/membership.ts';
import { changeMembership } from '../change-membership.ts';
import type { Cluster, ClusterOptions, InstanceTopology, ProcessStats } from '../cluster.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import { nodeClusterPorts } from '../node-cluster-ports.ts';
import type { ClusterPorts } from '../processes.ts';
import { readTopology } from '../read-topology.ts';
import { InstanceChild } from './instance-child.ts';

/** Claimed in the catalog, so that a folder has one supervisor at a time. */
const supervisorSingleton = 'supervisor';

/**
 * Starts the processes and resolves when all serve. They end with this process, however it ends. A folder has one
 * supervised cluster at a time. Throws `INSTANCE_IN_USE`, `OPTIONS_INVALID`, and what opening an instance throws.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = new SupervisedCluster(options, nodeClusterPorts);
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
  readonly #ports: ClusterPorts;
  readonly #membership: Membership;
  readonly #leaseFile: LeaseFile;
  readonly #children = new Map<number, InstanceChild>();
  readonly #events: ClusterEvent[] = [];
  #claimed = false;
  #closing: Promise<void> | undefined;

  constructor(options: ClusterOptions, ports: ClusterPorts) {
    validateOptions(options);
    this.#ports = ports;
    this.dir = options.dir;
    this.#options = options;
    this.#membership = new Membership(options.dir, { busyMs: 0, processes: ports.processes });
    this.#leaseFile = new LeaseFile(options.dir);
  }

  async open(): Promise<void> {
    await this.#changeMembership(() => this.#membership.claimSingleton(supervisorSingleton));
    this.#claimed = true;
    const activeMembers = this.#activeMembers();
    const wanted = this.#options.instances ?? Math.max(1, activeMembers.length);
    for (const instance of activeMembers.slice(wanted)) {
      await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
    }
    const kept = activeMembers.slice(0, wanted);
    while (kept.length < wanted) kept.push(await this.#addMember());
    const children = kept.map((instance) => this.#startChild(instance));
    await Promise.all(children.map((child) => child.opened));
    // Not before: the first process up must not consider the others dead.
    for (const child of children) child.startFailover();
  }

  #startChild(instance: number): InstanceChild {
    const { instances: _count, execArgv = [], onEvent: _listener, ...options } = this.#options;
    const { writerSilentMsMax = limits.writerSilentMsDefault } = options;
    const child: InstanceChild = new InstanceChild({
      options: { ...options, instance, writerSilentMsMax },
      execArgv,
      ports: this.#ports,
      onEvent: (event) => this.#emit(event),
      onEnded: ({ exitCode, signal }) => {
        if (this.#children.get(instance) === child) this.#children.delete(instance);
        this.#emit({
          ...this.#eventOf('process:ended', child),
          ...(exitCode !== null && { exitCode }),
          ...(signal !== null && { signal }),
        });
      },
    });
    this.#children.set(instance, child);
    this.#emit(this.#eventOf('process:started', child));
    return child;
  }

  #eventOf(type: ClusterEvent['type'], { instance, pid }: { instance: number; pid: number }): ClusterEvent {
    return { type, atMs: this.#ports.clock.epochMs(), instance, pid };
  }

  #emit(event: ClusterEvent): void {
    this.#events.push(event);
    if (this.#events.length > limits.clusterEventsKeptMax) this.#events.shift();
    this.#options.onEvent?.(event);
  }

  topology(): InstanceTopology[] {
    return readTopology({
      membership: this.#membership,
      leaseFile: this.#leaseFile,
      ports: this.#ports,
      children: this.#children,
    });
  }

  events(): ClusterEvent[] {
    return [...this.#events];
  }

  async stats(): Promise<ProcessStats[]> {
    const answers = await Promise.all([...this.#children.values()].map((child) => child.stats()));
    return answers.filter((stats) => stats !== undefined).sort((a, b) => a.instance - b.instance);
  }

  kill(instance: number, signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#runningChild(instance).signal(signal);
  }

  pause(instance: number): void {
    const child = this.#runningChild(instance);
    child.signal('SIGSTOP');
    this.#emit(this.#eventOf('process:paused', child));
  }

  resume(instance: number): void {
    const child = this.#runningChild(instance);
    child.signal('SIGCONT');
    this.#emit(this.#eventOf('process:resumed', child));
  }

  async stop(instance: number): Promise<void> {
    await this.#runningChild(instance).close();
  }

  async start(instance: number): Promise<void> {
    this.#assertOpen();
    if (!this.#membership.members().some((member) => member.instance === instance && !member.leaving)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    if (this.#children.has(instance)) throw new QueueError('PROCESS_RUNNING', { details: { instance } });
    const child = this.#startChild(instance);
    await child.opened;
    child.startFailover();
  }

  async add(): Promise<number> {
    this.#assertOpen();
    const instance = await this.#addMember();
    this.#emit(this.#eventOf('instance:added', { instance, pid: this.#ports.processes.self.pid }));
    try {
      await this.start(instance);
    } catch (error) {
      await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
      throw error;
    }
    return instance;
  }

  async #addMember(): Promise<number> {
    const activeMembers = this.#activeMembers();
    for (let instance = 1; instance <= limits.instancesMax; instance += 1) {
      if (activeMembers.includes(instance)) continue;
      await this.#changeMembership(() => this.#membership.addMember(instance));
      return instance;
    }
    throw new QueueError('OPTIONS_INVALID', {
      message: `A cluster has at most ${limits.instancesMax} instances`,
    });
  }

  async remove(instance: number): Promise<void> {
    this.#assertOpen();
    if (!this.#activeMembers().includes(instance)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    if (
      ![...this.#children.values()].some((child) => child.instance !== instance && child.state === 'running')
    ) {
      throw new QueueError('OPTIONS_INVALID', {
        message: `Instance ${instance} has the last running process: nobody could serve its backlog`,
      });
    }
    await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
    this.#emit(this.#eventOf('instance:removed', { instance, pid: this.#ports.processes.self.pid }));
    await this.#children.get(instance)?.close();
  }

  async resize(instances: number): Promise<void> {
    validateInstanceCount(instances);
    for (const surplus of this.#activeMembers().slice(instances).reverse()) await this.remove(surplus);
    while (this.#activeMembers().length < instances) await this.add();
  }

  #changeMembership<T>(change: () => T): Promise<T> {
    return changeMembership(this.#ports.timers, change);
  }

  /** Members that are not leaving, by number. */
  #activeMembers(): number[] {
    return this.#membership
      .members()
      .filter(({ leaving }) => !leaving)
      .map(({ instance }) => instance);
  }

  #runningChild(instance: number): InstanceChild {
    const child = this.#children.get(instance);
    if (child !== undefined) return child;
    const known = this.#membership.members().some((member) => member.instance === instance);
    throw new QueueError(known ? 'PROCESS_NOT_RUNNING' : 'INSTANCE_NOT_FOUND', { details: { instance } });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new QueueError('INSTANCE_CLOSED', { message: 'The cluster is closed' });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const children = [...this.#children.values()];
    await Promise.all(children.map((child) => child.stopFailover()));
    await Promise.all(children.map((child) => child.close()));
    if (this.#claimed)
      await this.#changeMembership(() => this.#membership.releaseSingleton(supervisorSingleton));
    this.#leaseFile.close();
    this.#membership.close();
  }
}

function validateOptions({ instances, writerSilentMsMax }: ClusterOptions): void {
  if (instances !== undefined) validateInstanceCount(instances);
  const [least, most] = [limits.writerSilentMsMin, limits.writerSilentMsMax];
  if (writerSilentMsMax === undefined || (writerSilentMsMax >= least && writerSilentMsMax <= most)) return;
  throw new QueueError('OPTIONS_INVALID', { message: `writerSilentMsMax must be ${least} to ${most}` });
}

function validateInstanceCount(instances: number): void {
  if (Number.isInteger(instances) && instances >= 1 && instances <= limits.instancesMax) return;
  throw new QueueError('OPTIONS_INVALID', { message: `instances must be 1 to ${limits.instancesMax}` });
}
