/**
 * A process of a cluster. It hosts its own instance and, by failover, instances whose own processes are gone. Every
 * process observes all others; there is no leader. A transaction of the catalog (`membership.ts`) decides which process
 * claims an instance, and a claim is made only after the process that hosted it before is certainly dead.
 *
 * At most one transition of an instance is in progress in this process: opening, closing or taking it over.
 */

import { QueueError } from '../api/errors.ts';
import type { Instance, InstanceOptions } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { ClaimNumber, InstanceId, Pid } from '../model/ids.ts';
import type { Timer } from '../model/ports.ts';
import { LeaseFile } from '../storage/catalog/lease-file.ts';
import { type Host, type Member, Membership } from '../storage/catalog/membership.ts';
import { changeMembership } from './change-membership.ts';
import { claimOwnInstance } from './claim-own-instance.ts';
import type { ClusterEvent } from './cluster-events.ts';
import { type HostLoss, HostWatch, lossTexts } from './host-watch.ts';
import { HostedInstance, type ServingHandle } from './hosted-instance.ts';
import { killProcess } from './kill-process.ts';
import type { ClusterPorts } from './processes.ts';

export interface ClusterMemberOptions extends Omit<InstanceOptions, 'instance'> {
  /** The instance whose own process this is. */
  instance: InstanceId;
  /** A new instance, or one that is leaving: it becomes a member once this process has claimed it. */
  joins?: boolean;
  /** An instance whose writer has not answered for this long asks to be hosted by another process, milliseconds. */
  writerSilentMsMax?: number;
  /** Another process that has made no turn for this long is killed, milliseconds; default 30,000. */
  turnlessMsMax?: number;
  /** The heartbeat of this process, which has begun already. Ended with this member. */
  heartbeat: { close(): void };
  ports: ClusterPorts;
  serve(instance: Instance): Promise<ServingHandle>;
  onEvent(event: ClusterEvent): void;
}

type EventFields = Omit<ClusterEvent, 'atMs' | 'pid'>;

export class ClusterMember {
  readonly #options: ClusterMemberOptions;
  readonly #membership: Membership;
  readonly #leaseFile: LeaseFile;
  readonly #hostWatch: HostWatch;
  readonly #hostings = new Map<InstanceId, HostedInstance>();
  readonly #transitions = new Map<InstanceId, Promise<void>>();
  /** When this process noticed that no process serves an instance, monotonic ms. */
  readonly #unhostedSinceMs = new Map<InstanceId, number>();
  /** The earliest next attempt for an instance that could not be taken over or opened, monotonic ms. */
  readonly #retryNotBefore = new Map<InstanceId, { atMs: number; pauseMs: number }>();
  #scanTimer: Timer | undefined;
  #isFailoverStopped = false;

  /**
   * Opens the process's own instance; a failover host returns it first. Throws `INSTANCE_IN_USE`, and what
   * opening an instance throws.
   */
  static async join(options: ClusterMemberOptions): Promise<ClusterMember> {
    const member = new ClusterMember(options);
    try {
      const claim = await claimOwnInstance({
        instance: options.instance,
        membership: member.#membership,
        leaseFile: member.#leaseFile,
        hostWatch: member.#hostWatch,
        ports: options.ports,
      });
      // Not before: a member that nobody hosts would be taken over.
      if (options.joins)
        await member.#changeMembership((membership) => membership.addMember(options.instance));
      await member.#openHosting(options.instance, claim, 'owner');
    } catch (error) {
      member.#closeFiles();
      throw error;
    }
    return member;
  }

  private constructor(options: ClusterMemberOptions) {
    this.#options = options;
    this.#membership = new Membership(options.dir, { busyMs: 0, processes: options.ports.processes });
    this.#leaseFile = new LeaseFile(options.dir);
    this.#hostWatch = new HostWatch(options.ports, options.turnlessMsMax);
  }

  #changeMembership<T>(change: (membership: Membership) => T): Promise<T> {
    return changeMembership(this.#options.ports.timers, () => change(this.#membership));
  }

  get #processes(): ClusterPorts['processes'] {
    return this.#options.ports.processes;
  }

  #machineMs(): number {
    return this.#options.ports.machineClock.nowMs();
  }

  /** The instance whose own process this is. */
  get instance(): InstanceId {
    return this.#options.instance;
  }

  /** Its own instance first, then the others in the order in which it took them over. */
  get instances(): Instance[] {
    return [...this.#hostings.values()].map((hosting) => hosting.instance);
  }

  /** The hosted instances that accept messages: one that is leaving the cluster does not. */
  get acceptingInstances(): Instance[] {
    return [...this.#hostings.values()].flatMap(({ instance }) =>
      instance.acceptsMessages ? [instance] : [],
    );
  }

  /** Starts taking over instances that no process serves. Call it when all processes of a new cluster had time to start. */
  startFailover(): void {
    this.#scanTimer ??= this.#options.ports.timers.every(limits.leaseCheckMs, () => this.#scan());
  }

  #scan(): void {
    let hosts: Map<InstanceId, Host>;
    let members: Member[];
    try {
      hosts = new Map(this.#membership.hosts().map((host) => [host.instance, host]));
      members = this.#membership.members();
      this.#hostWatch.observe(hosts.values(), this.#leaseFile.read());
    } catch {
      return; // the next scan tries again
    }
    const byId = new Map(members.map((member) => [member.instance, member]));
    for (const hosting of this.#hostings.values()) {
      if (!this.#transitions.has(hosting.instanceId))
        this.#reconcileHosting(hosting, hosts.get(hosting.instanceId), byId.get(hosting.instanceId));
    }
    if (this.#isFailoverStopped) return;
    for (const { instance } of members) {
      // After a failure of its own instance this process ends: a new process or another host recovers it.
      if (instance === this.#options.instance) continue;
      if (this.#hostings.has(instance) || this.#transitions.has(instance)) continue;
      this.#considerTakeover(instance, hosts.get(instance));
    }
  }

  /** Returns or deregisters a hosted instance if the catalog asks for it. */
  #reconcileHosting(hosting: HostedInstance, host: Host | undefined, member: Member | undefined): void {
    const leaving = member?.leaving ?? false;
    hosting.instance.acceptsMessages = !leaving;
    if (hosting.role !== 'failover' || host?.claim !== hosting.claim) return;
    if (host.recalledBy !== null)
      this.#runTransition(hosting.instanceId, () => this.#returnToOwner(hosting, host.recalledBy!.pid));
    else if (leaving && hosting.instance.isEmpty)
      this.#runTransition(hosting.instanceId, () => this.#deregister(hosting));
  }

  /** Takes over an instance that no process serves. Processes that host more instances wait longer, so the load spreads. */
  #considerTakeover(instance: InstanceId, host: Host | undefined): void {
    const loss = host && this.#hostWatch.lossOf(host);
    if (host !== undefined && loss === undefined) {
      this.#unhostedSinceMs.delete(instance);
      return;
    }
    const nowMs = this.#machineMs();
    const since = this.#unhostedSinceMs.get(instance) ?? nowMs;
    this.#unhostedSinceMs.set(instance, since);
    const hostedCount = this.#hostings.size + this.#transitions.size - 1;
    // An owner that is coming back opens the instance itself: it gets the time of a lease for that.
    const returning = host?.recalledBy != null && this.#processes.isAlive(host.recalledBy);
    const patienceMs =
      hostedCount * limits.takeoverDelayPerHostedInstanceMs + (returning ? limits.leaseMs : 0);
    if (nowMs < since + patienceMs || nowMs < (this.#retryNotBefore.get(instance)?.atMs ?? 0)) return;
    this.#runTransition(instance, () => this.#takeOver(instance, host && { host, loss: loss! }, since));
  }

  /** `lost`: its host; undefined if it has none, because that ended its claim, in order or after a failure of the instance. */
  async #takeOver(
    instance: InstanceId,
    lost: { host: Host; loss: HostLoss } | undefined,
    missingSince: number,
  ): Promise<void> {
    const killed = lost !== undefined && this.#processes.isAlive(lost.host);
    const from = lost === undefined ? {} : { fromPid: lost.host.pid, killed, message: lossTexts[lost.loss] };
    if (killed && !(await killProcess(lost.host, this.#options.ports))) {
      this.#emit({ type: 'takeover:blocked', instance, ...from });
      throw new QueueError('INSTANCE_IN_USE', { details: { instance, pid: lost.host.pid } });
    }
    const failed = lost !== undefined || this.#hostWatch.lastHosting(instance)?.failed === true;
    const claim = await this.#changeMembership((membership) => membership.claim(instance, 'failover'));
    await this.#openHosting(instance, claim, 'failover');
    this.#unhostedSinceMs.delete(instance);
    const tookMs = this.#machineMs() - missingSince;
    this.#emit({ type: failed ? 'instance:taken-over' : 'instance:moved', instance, ...from, tookMs });
  }

  async #openHosting(id: InstanceId, claim: ClaimNumber, role: 'owner' | 'failover'): Promise<void> {
    const startedAt = this.#machineMs();
    const { writerSilentMsMax = limits.writerSilentMsDefault, serve } = this.#options;
    const hosting = await HostedInstance.open({
      instanceId: id,
      claim,
      role,
      membership: this.#membership,
      leaseFile: this.#leaseFile,
      instanceOptions: this.#options,
      writerSilentMsMax,
      ports: this.#options.ports,
      processOf: this.#options.instance,
      leaving: this.#membership.members().some((member) => member.instance === id && member.leaving),
      serve,
      onEnded: (error) => this.#onEnded(id, error),
      onUnhealthy: ({ code, message }) =>
        this.#emit({ type: 'instance:unhealthy', instance: id, code, message }),
      onDamageFound: ({ message }) => this.#emit({ type: 'instance:damaged', instance: id, message }),
    });
    this.#hostings.set(id, hosting);
    if (hosting.instance.endReason !== undefined) this.#runTransition(id, () => this.#closeHosting(hosting));
    const tookMs = this.#machineMs() - startedAt;
    const { epoch } = hosting.instance;
    this.#emit({ type: 'lease:acquired', instance: id, role, claim, epoch, tookMs });
    for (const { queue, messages } of hosting.instance.lostMessages)
      this.#emit({ type: 'messages:lost', instance: id, message: `${messages} of ${queue}` });
  }

  /** A failed instance is closed and its claim ended, so that another process can recover it. */
  #onEnded(instance: InstanceId, error: QueueError): void {
    const { code, message } = error;
    const type = code === 'INSTANCE_FENCED' ? 'instance:fenced' : 'instance:failed';
    this.#emit({ type, instance, code, message });
    const hosting = this.#hostings.get(instance);
    if (hosting !== undefined) this.#runTransition(instance, () => this.#closeHosting(hosting));
  }

  async #returnToOwner(hosting: HostedInstance, toPid: Pid): Promise<void> {
    const startedAt = this.#machineMs();
    await this.#closeHosting(hosting);
    const tookMs = this.#machineMs() - startedAt;
    this.#emit({ type: 'instance:returned', instance: hosting.instanceId, toPid, tookMs });
  }

  async #deregister(hosting: HostedInstance): Promise<void> {
    await this.#closeHosting(hosting);
    await this.#changeMembership((membership) => membership.deleteLeavingMember(hosting.instanceId));
    this.#emit({ type: 'instance:deregistered', instance: hosting.instanceId });
  }

  async #closeHosting(hosting: HostedInstance): Promise<void> {
    try {
      await hosting.close();
    } finally {
      this.#hostings.delete(hosting.instanceId);
    }
  }

  #runTransition(instance: InstanceId, work: () => Promise<void>): void {
    const moving = (this.#transitions.get(instance) ?? Promise.resolve())
      .then(work)
      .then(() => void this.#retryNotBefore.delete(instance))
      .catch((error: unknown) => this.#onTransitionFailed(instance, error))
      .finally(() => {
        if (this.#transitions.get(instance) === moving) this.#transitions.delete(instance);
      });
    this.#transitions.set(instance, moving);
  }

  #onTransitionFailed(instance: InstanceId, error: unknown): void {
    const { code = 'INTERNAL', message } = error as Partial<QueueError>;
    if (code !== 'INSTANCE_IN_USE') {
      this.#emit({ type: 'instance:failed', instance, code, message: message ?? String(error) });
    }
    const before = this.#retryNotBefore.get(instance)?.pauseMs ?? limits.takeoverRetryMsMin / 2;
    const pauseMs = Math.min(before * 2, limits.takeoverRetryMsMax);
    this.#retryNotBefore.set(instance, { atMs: this.#machineMs() + pauseMs, pauseMs });
  }

  #emit(fields: EventFields): void {
    this.#options.onEvent({
      ...fields,
      atMs: this.#options.ports.clock.epochMs(),
      pid: this.#processes.self.pid,
    });
  }

  /** Stops taking over instances, because the whole cluster is shutting down. */
  stopFailover(): void {
    this.#isFailoverStopped = true;
  }

  /** Closes all hosted instances in order, so that other processes can claim them. If one fails to close, the others still do. */
  async leave(): Promise<void> {
    this.stopFailover();
    this.#scanTimer?.cancel();
    await Promise.all(this.#transitions.values());
    const closes = await Promise.allSettled(
      [...this.#hostings.values()].map(async (hosting) => {
        await this.#closeHosting(hosting);
        this.#emit({ type: 'instance:released', instance: hosting.instanceId });
      }),
    );
    this.#closeFiles();
    for (const close of closes) if (close.status === 'rejected') throw close.reason;
  }

  #closeFiles(): void {
    this.#options.heartbeat.close();
    this.#leaseFile.close();
    this.#membership.close();
  }
}
