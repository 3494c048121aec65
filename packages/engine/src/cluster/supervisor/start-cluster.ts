/** Supervises a cluster on one machine: one process for each instance, started and ended by this process. */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { assertFields, assertName, assertTexts, fieldsOf } from '../../model/call-arguments.ts';
import { instanceOptionKinds } from '../../model/call-fields.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { Timer } from '../../model/ports.ts';
import { servicesOf, validateServices } from '../../model/validate-services.ts';
import { assertProgramsFound } from '../../program-files.ts';
import { LeaseFile } from '../../storage/catalog/lease-file.ts';
import { Membership } from '../../storage/catalog/membership.ts';
import { changeMembership } from '../change-membership.ts';
import type { Cluster, ClusterOptions, InstanceTopology, ProcessStats } from '../cluster.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import { nodeClusterPorts } from '../node-cluster-ports.ts';
import type { ClusterPorts } from '../processes.ts';
import { readTopology } from '../read-topology.ts';
import { ProcessSupervisor } from './process-supervisor.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** Claimed in the catalog, so that a folder has one supervisor at a time. */
const supervisorSingleton = 'supervisor';

/**
 * Starts the processes and resolves when all serve. They exit with this process, however it exits. After an unrequested exit a
 * process is restarted. A folder has one supervised cluster at a time. Throws `INSTANCE_IN_USE`, `OPTIONS_INVALID`, and what
 * opening an instance throws.
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
  readonly #supervisor: ProcessSupervisor;
  readonly #events: ClusterEvent[] = [];
  #claimed = false;
  #checkTimer: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ClusterOptions, ports: ClusterPorts) {
    validateOptions(options);
    assertProgramsFound();
    this.#ports = ports;
    this.dir = options.dir;
    this.#options = options;
    this.#membership = new Membership(options.dir, { busyMs: 0, processes: ports.processes });
    this.#leaseFile = new LeaseFile(options.dir);
    const { execArgv = [], restart = true } = options;
    this.#supervisor = new ProcessSupervisor({
      execArgv,
      ports,
      restarts: restart,
      isServed: (instance) => this.#isServed(instance),
      onEvent: (event) => this.#emit(event),
      onGivenUp: (error) => this.#options.onUnrecoverable?.(error),
    });
  }

  async open(): Promise<void> {
    await this.#changeMembership(() => this.#membership.claimSingleton(supervisorSingleton));
    this.#claimed = true;
    const activeMembers = this.#activeMembers();
    const wanted = this.#options.instances ?? Math.max(1, activeMembers.length);
    for (const instance of activeMembers.slice(wanted)) {
      this.#assertHasNoService(instance);
      await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
    }
    const kept = activeMembers.slice(0, wanted);
    while (kept.length < wanted) kept.push(await this.#addMember());
    await Promise.all(kept.map((instance) => this.#startProcess(instance)));
    this.#supervisor.startFailover();
    this.#checkTimer = this.#ports.timers.every(limits.supervisorCheckMs, () => this.#check());
  }

  #startProcess(instance: InstanceId, how?: { joins: boolean }): Promise<void> {
    const {
      instances: _count,
      execArgv: _flags,
      restart: _restart,
      onEvent: _listener,
      onUnrecoverable: _end,
      ...options
    } = this.#options;
    const { writerSilentMsMax = limits.writerSilentMsDefault } = options;
    return this.#supervisor.start({ ...options, instance, writerSilentMsMax }, how);
  }

  /** Looks for processes that are slow or failed, and for another process that runs this cluster. */
  #check(): void {
    try {
      if (!this.#membership.holdsSingleton(supervisorSingleton)) {
        this.#onDeposed();
        return;
      }
      const nowMs = this.#ports.machineClock.nowMs();
      this.#supervisor.check(nowMs, this.#membership.hosts(), this.#leaseFile.read());
    } catch (error) {
      if (!(error instanceof QueueError)) throw error; // files that cannot be read now: the next check tries again
    }
  }

  #onDeposed(): void {
    this.#checkTimer?.cancel();
    this.#options.onUnrecoverable?.(new QueueError('CLUSTER_DEPOSED', { details: { dir: this.dir } }));
  }

  #isServed(instance: InstanceId): boolean {
    return this.topology().some((each) => each.instance === instance && each.state !== 'down');
  }

  #newEvent(type: ClusterEvent['type'], instance: InstanceId): ClusterEvent {
    return { type, atMs: this.#ports.clock.epochMs(), instance, pid: this.#ports.processes.self.pid };
  }

  #emit(event: ClusterEvent): void {
    this.#events.push(event);
    if (this.#events.length > limits.clusterEventsKeptMax) this.#events.shift();
    this.#options.onEvent?.(event);
  }

  topology(): InstanceTopology[] {
    const processes = new Map<InstanceId, NonNullable<InstanceTopology['process']>>();
    for (const { instance, process } of this.#supervisor.all) {
      if (process !== null) processes.set(instance, process);
    }
    const topology = readTopology({
      membership: this.#membership,
      leaseFile: this.#leaseFile,
      ports: this.#ports,
      processes,
    });
    return topology.map((hosted) => ({
      ...hosted,
      restart: this.#supervisor.find(hosted.instance)?.restart ?? null,
    }));
  }

  events(): ClusterEvent[] {
    return [...this.#events];
  }

  async stats(): Promise<ProcessStats[]> {
    const answers = await Promise.all([...this.#supervisor.all].map((supervised) => supervised.stats()));
    return answers.filter((stats) => stats !== undefined).sort((a, b) => a.instance - b.instance);
  }

  kill(instance: InstanceId): void {
    this.#supervised(instance).kill();
  }

  pause(instance: InstanceId): void {
    this.#supervised(instance).pause();
  }

  resume(instance: InstanceId): void {
    this.#supervised(instance).resume();
  }

  async stop(instance: InstanceId): Promise<void> {
    await this.#supervised(instance).stop();
  }

  async start(instance: InstanceId): Promise<void> {
    this.#assertOpen();
    if (!this.#activeMembers().includes(instance)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    await this.#startProcess(instance);
  }

  async add(): Promise<InstanceId> {
    this.#assertOpen();
    const activeMembers = this.#activeMembers();
    const isFree = (each: InstanceId) =>
      !activeMembers.includes(each) && this.#supervisor.find(each) === undefined;
    const instance = instanceNumbers.find(isFree);
    if (instance === undefined) throw tooManyError();
    try {
      await this.#startProcess(instance, { joins: true });
    } catch (error) {
      await this.#supervisor.remove(instance);
      await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
      throw error;
    }
    this.#emit(this.#newEvent('instance:added', instance));
    return instance;
  }

  async #addMember(): Promise<InstanceId> {
    const activeMembers = this.#activeMembers();
    const instance = instanceNumbers.find((each) => !activeMembers.includes(each));
    if (instance === undefined) throw tooManyError();
    await this.#changeMembership(() => this.#membership.addMember(instance));
    return instance;
  }

  async remove(instance: InstanceId): Promise<void> {
    this.#assertOpen();
    if (!this.#activeMembers().includes(instance)) {
      throw new QueueError('INSTANCE_NOT_FOUND', { details: { instance } });
    }
    this.#assertHasNoService(instance);
    if (![...this.#supervisor.all].some((each) => each.instance !== instance && each.state === 'running')) {
      throw new QueueError('OPTIONS_INVALID', {
        message: `Instance ${instance} has the last running process: no other process could serve its backlog`,
      });
    }
    await this.#changeMembership(() => this.#membership.markMemberLeaving(instance));
    this.#emit(this.#newEvent('instance:removed', instance));
    await this.#supervisor.remove(instance);
  }

  /** Its file has their state. */
  #assertHasNoService(instance: InstanceId): void {
    const [service] = servicesOf(this.#options.services ?? [], instance);
    if (service === undefined) return;
    throw new QueueError('INSTANCE_IS_HOME', {
      message: `Instance ${instance} has the service ${service.name} and cannot be removed`,
      details: { instance, service: service.name },
    });
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
  #activeMembers(): InstanceId[] {
    return this.#membership
      .members()
      .filter(({ leaving }) => !leaving)
      .map(({ instance }) => instance);
  }

  #supervised(instance: InstanceId): SupervisedProcess {
    const supervised = this.#supervisor.find(instance);
    if (supervised !== undefined) return supervised;
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
    this.#checkTimer?.cancel();
    await this.#supervisor.end();
    if (this.#claimed)
      await this.#changeMembership(() => this.#membership.releaseSingleton(supervisorSingleton));
    this.#leaseFile.close();
    this.#membership.close();
  }
}

const { instance: _instance, ...instanceKinds } = instanceOptionKinds;
const clusterFields = fieldsOf<ClusterOptions>('A cluster', {
  ...instanceKinds,
  instances: 'number',
  writerSilentMsMax: 'number',
  execArgv: 'any',
  restart: 'boolean',
  extension: 'any',
  onEvent: 'function',
  onUnrecoverable: 'function',
});

function validateOptions(options: ClusterOptions): void {
  assertFields(options, clusterFields);
  const { dir, instances, writerSilentMsMax, services = [], execArgv } = options;
  assertName('dir', dir);
  if (execArgv !== undefined) assertTexts('execArgv', execArgv);
  validateServices(services);
  if (instances !== undefined) validateInstanceCount(instances);
  const [least, most] = [limits.writerSilentMsMin, limits.writerSilentMsMax];
  if (writerSilentMsMax === undefined || (writerSilentMsMax >= least && writerSilentMsMax <= most)) return;
  throw new QueueError('OPTIONS_INVALID', { message: `writerSilentMsMax must be ${least} to ${most}` });
}

function validateInstanceCount(instances: number): void {
  if (Number.isInteger(instances) && instances >= 1 && instances <= limits.instancesMax) return;
  throw new QueueError('OPTIONS_INVALID', { message: `instances must be 1 to ${limits.instancesMax}` });
}

const instanceNumbers = Array.from({ length: limits.instancesMax }, (_, index): InstanceId => index + 1);

function tooManyError(): QueueError {
  return new QueueError('OPTIONS_INVALID', {
    message: `A cluster has at most ${limits.instancesMax} instances`,
  });
}
