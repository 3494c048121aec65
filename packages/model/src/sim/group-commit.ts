/**
 * Group commit of each instance: transactions that are ready together share one write and one sync. A group is *built*
 * on the session thread, hops to the writer thread, is *written* there and synced, hops back and is *applied*; a limited
 * number can be in flight. Systems without a session thread skip steps that cost nothing.
 */
import type { ClusterCosts } from './costs.ts';
import { JobLists } from './job-lists.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { type Processors, priorities } from './processors.ts';
import { SerialResource } from './serial-resource.ts';
import { type SessionTimes, stateIndex } from './session-times.ts';
import type { ModelWorkload } from './workload.ts';

const stages = {
  free: 0,
  build: 1,
  toWriter: 2,
  write: 3,
  sync: 4,
  toSessions: 5,
  apply: 6,
  resume: 7,
} as const;

/** Operations of the transactions whose sessions continue in one turn of the event loop: the engine's limit of that name. */
export const resumedOperationsPerTurnMax = 320;

export interface CommitHost {
  /** Called when the job's transaction is durable and visible. */
  committed(job: number): void;
}

interface GroupCommitParts {
  kernel: Kernel;
  processors: Processors;
  sessionTimes: SessionTimes;
  layout: Layout;
  costs: ClusterCosts;
  workload: ModelWorkload;
  host: CommitHost;
}

export class GroupCommit {
  readonly #parts: GroupCommitParts;
  readonly #durability: 'durable' | 'relaxed' | 'memory';
  readonly #messagesMax: number;
  readonly #stage: Uint8Array;
  readonly #messagesIn: Int32Array;
  readonly #messagesOut: Int32Array;
  /** Jobs that wait for a group, by instance, then the members of each group. */
  readonly #members: JobLists;
  readonly #closing: Uint8Array;
  readonly #free: JobLists;
  /** Values of each group. */
  readonly #groupIn: Float64Array;
  /** Subscribers of whom transactions of the group consumed; a queue has one. */
  readonly #groupSubscribers: Float64Array;
  /** The last group, counted from the start, in which each subscriber's consumption was. */
  readonly #consumedIn: Int32Array;
  readonly #groupMaintenanceUs: Float64Array;
  /** Operations since the instance's last new partition. */
  readonly #operationsInPartition: Float64Array;
  readonly #devices: SerialResource[];
  /** Since the start; the others since the window began. */
  #groupsBuilt = 0;
  groups = 0;
  transactions = 0;

  constructor(parts: GroupCommitParts) {
    const { layout, costs, workload } = parts;
    this.#parts = parts;
    this.#durability = workload.durability ?? 'durable';
    this.#messagesMax = Math.max(
      1,
      Math.floor(costs.redo.groupBytesMax / Math.max(1, workload.payloadBytes)),
    );
    this.#stage = new Uint8Array(layout.jobs);
    this.#messagesIn = new Int32Array(layout.jobs);
    this.#messagesOut = new Int32Array(layout.jobs);
    const groups = layout.firstForwarder - layout.firstGroup;
    this.#members = new JobLists(layout.instances + groups, layout.jobs);
    this.#closing = new Uint8Array(layout.instances);
    this.#free = new JobLists(layout.instances, layout.jobs);
    this.#groupIn = new Float64Array(layout.jobs);
    this.#groupSubscribers = new Float64Array(layout.jobs);
    this.#consumedIn = new Int32Array(layout.instances * layout.subscribers).fill(-1);
    this.#groupMaintenanceUs = new Float64Array(layout.jobs);
    this.#operationsInPartition = new Float64Array(layout.instances);
    this.#devices = Array.from({ length: layout.nodes }, () => new SerialResource());
    for (let group = layout.firstGroup; group < layout.firstForwarder; group++)
      this.#free.push(layout.instanceOf[group]!, group);
  }

  /** Ends in `committed(job)`. */
  join(job: number, messagesIn: number, messagesOut: number): void {
    const { layout, sessionTimes, kernel } = this.#parts;
    const instance = layout.instanceOf[job]!;
    this.#messagesIn[job] = messagesIn;
    this.#messagesOut[job] = messagesOut;
    sessionTimes.enter(job, stateIndex.logFileSync, kernel.now);
    this.#members.push(instance, job);
    this.#close(instance);
  }

  /** Members are taken when the group is built, so that what commits until then shares it. */
  #close(instance: number): void {
    if (this.#closing[instance] !== 0 || this.#members.length(instance) === 0) return;
    const group = this.#free.shift(instance);
    if (group < 0) return;
    this.#closing[instance] = 1;
    this.#stage[group] = stages.build;
    if (this.#runsOnSessionThread) {
      const { processors } = this.#parts;
      processors.request(group, processors.sessionThread(instance), priorities.eventLoopTurn);
    } else {
      this.#takeMembers(group);
      this.#toWriter(group);
    }
  }

  get #runsOnSessionThread(): boolean {
    return this.#parts.costs.sessions.oneThread;
  }

  #list(group: number): number {
    return this.#parts.layout.instances + group - this.#parts.layout.firstGroup;
  }

  #takeMembers(group: number): void {
    const { layout, costs } = this.#parts;
    const { counts, operationsPerPartition, partitionUs, scope } = costs.maintenance;
    const instance = layout.instanceOf[group]!;
    let [messagesIn, subscribers, operations] = [0, 0, 0];
    while (this.#members.length(instance) > 0 && messagesIn < this.#messagesMax) {
      const job = this.#members.shift(instance);
      messagesIn += this.#messagesIn[job]!;
      if (this.#messagesOut[job]! > 0 && this.#isFirstOfSubscriber(job)) subscribers += 1;
      operations += this.#messagesIn[job]! + (counts === 'operations' ? this.#messagesOut[job]! : 0);
      this.#members.push(this.#list(group), job);
      this.transactions += 1;
    }
    this.#closing[instance] = 0;
    this.#groupIn[group] = messagesIn;
    this.#groupSubscribers[group] = subscribers;
    this.#groupMaintenanceUs[group] = 0;
    this.groups += 1;
    this.#groupsBuilt += 1;
    if (scope === 'cluster' || this.#durability === 'memory') return;
    const filled = this.#operationsInPartition[instance]! + operations;
    const partitions = Math.floor(filled / operationsPerPartition);
    this.#operationsInPartition[instance] = filled - partitions * operationsPerPartition;
    this.#groupMaintenanceUs[group] = partitions * partitionUs;
  }

  /** Whether nothing of the job's subscriber is in the group that is built. */
  #isFirstOfSubscriber(job: number): boolean {
    const { layout } = this.#parts;
    const subscriber = layout.instanceOf[job]! * layout.subscribers + layout.subscriberOf[job]!;
    if (this.#consumedIn[subscriber] === this.#groupsBuilt) return false;
    this.#consumedIn[subscriber] = this.#groupsBuilt;
    return true;
  }

  demandOf(group: number): number {
    const { costs, kernel } = this.#parts;
    const { sharded, redo, variation } = costs;
    switch (this.#stage[group]) {
      case stages.build:
        this.#takeMembers(group);
        return kernel.random.sampleAround(sharded.groupUs / 2, variation.cpu);
      case stages.write: {
        const writing =
          sharded.writeGroupUs +
          (this.#durability === 'durable' ? redo.syncCpuUs : 0) +
          this.#groupIn[group]! * sharded.writeEnqueueUs +
          this.#groupSubscribers[group]! * sharded.writeConsumptionUs;
        return kernel.random.sampleAround(writing, variation.cpu) + this.#groupMaintenanceUs[group]!;
      }
      case stages.resume:
        return 0;
      default:
        return kernel.random.sampleAround(sharded.groupUs / 2, variation.cpu);
    }
  }

  burstEnded(group: number): void {
    const { processors, layout } = this.#parts;
    const instance = layout.instanceOf[group]!;
    switch (this.#stage[group]) {
      case stages.build:
        this.#toWriter(group);
        // More transactions are ready than one group may hold.
        this.#close(instance);
        processors.releaseThread(processors.sessionThread(instance));
        break;
      case stages.write:
        this.#sync(group);
        break;
      default:
        this.#apply(group);
        processors.releaseThread(processors.sessionThread(instance));
    }
  }

  #toWriter(group: number): void {
    const { kernel, costs } = this.#parts;
    if (this.#durability === 'memory') {
      this.#toSessions(group);
      return;
    }
    this.#stage[group] = stages.toWriter;
    if (costs.redo.threadHopUs > 0) kernel.after(costs.redo.threadHopUs, eventKinds.delay, group);
    else this.delayEnded(group);
  }

  /** The writer keeps its thread until the sync has ended. */
  #sync(group: number): void {
    this.#stage[group] = stages.sync;
    const { kernel, workload, layout, costs } = this.#parts;
    if (this.#durability !== 'durable') {
      this.delayEnded(group);
      return;
    }
    const bytes = this.#groupIn[group]! * workload.payloadBytes;
    const { syncUs, usPerKib } = costs.redo;
    // Its turn at the node's device, then the part that other syncs may overlap.
    const written = this.#devices[layout.nodeOf[group]!]!.reserve(kernel.now, (bytes / 1024) * usPerKib);
    const us = written - kernel.now + kernel.random.sampleAround(syncUs, costs.variation.redo);
    kernel.after(us, eventKinds.delay, group);
  }

  delayEnded(group: number): void {
    const { kernel, processors, layout, costs } = this.#parts;
    const instance = layout.instanceOf[group]!;
    switch (this.#stage[group]) {
      case stages.toWriter:
        this.#stage[group] = stages.write;
        processors.request(group, processors.writerThread(instance));
        break;
      case stages.sync:
        processors.releaseThread(processors.writerThread(instance));
        this.#stage[group] = stages.toSessions;
        if (costs.redo.threadHopUs > 0) kernel.after(costs.redo.threadHopUs, eventKinds.delay, group);
        else this.#toSessions(group);
        break;
      default:
        this.#toSessions(group);
    }
  }

  #toSessions(group: number): void {
    const { processors, layout } = this.#parts;
    this.#stage[group] = stages.apply;
    if (this.#runsOnSessionThread)
      processors.request(
        group,
        processors.sessionThread(layout.instanceOf[group]!),
        priorities.eventLoopTurn,
      );
    else this.#apply(group);
  }

  #apply(group: number): void {
    const { layout, sessionTimes, kernel, host } = this.#parts;
    const list = this.#list(group);
    const instance = layout.instanceOf[group]!;
    const maintenanceUs = this.#groupMaintenanceUs[group]!;
    let operations = 0;
    while (this.#members.length(list) > 0) {
      if (this.#runsOnSessionThread && operations >= resumedOperationsPerTurnMax) {
        this.#resumeInNextTurn(group, instance);
        return;
      }
      const job = this.#members.shift(list);
      operations += this.#messagesIn[job]! + this.#messagesOut[job]!;
      if (maintenanceUs > 0) sessionTimes.reassign(job, stateIndex.maintenance, maintenanceUs, kernel.now);
      host.committed(job);
    }
    this.#stage[group] = stages.free;
    this.#free.push(instance, group);
    this.#close(instance);
  }

  #resumeInNextTurn(group: number, instance: number): void {
    const { processors } = this.#parts;
    this.#stage[group] = stages.resume;
    processors.request(group, processors.sessionThread(instance), priorities.eventLoopTurn);
  }

  /** Largest share of the time that a node's device was busy. */
  deviceUse(elapsedUs: number): number {
    const { now } = this.#parts.kernel;
    return Math.max(...this.#devices.map((device) => device.busyUs(now))) / elapsedUs;
  }

  clear(): void {
    this.groups = 0;
    this.transactions = 0;
    for (const device of this.#devices) device.clear(this.#parts.kernel.now);
  }
}
