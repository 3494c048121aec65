/**
 * A process of a cluster: hosts its own instance and, while their processes are gone, those of others as guests. Every
 * process watches all leases; there is no chief. Who wins an instance is decided by a transaction of the catalog
 * (`membership.ts`), and only after the process that had it is dead for certain.
 *
 * Of an instance at most one thing is under way here at a time: opening it, closing it or taking it over (`#moving`).
 */
import { QueueError } from '../core/errors.ts';
import { LeaseWatch } from '../core/lease-watch.ts';
import { limits } from '../core/limits.ts';
import { LeaseFile } from '../storage/lease-file.ts';
import { type Host, type Member, Membership } from '../storage/membership.ts';
import { isAlive, mayBeAlive } from '../storage/process-identity.ts';
import type { Instance, InstanceOptions } from '../types.ts';
import { changeMembership } from './change-membership.ts';
import { claimHome } from './claim-home.ts';
import type { ClusterEvent } from './cluster-events.ts';
import { endProcess } from './end-process.ts';
import { Hosting, type Serving } from './hosting.ts';
import { monotonicMs } from './monotonic-clock.ts';

export interface MemberOptions extends Omit<InstanceOptions, 'instance'> {
  /** The instance whose own process this is. */
  instance: number;
  /** Without an answer of its writer thread for this long, milliseconds, an instance gives up its lease. */
  writerSilentMsMax?: number;
  serve(instance: Instance): Promise<Serving>;
  onEvent(event: ClusterEvent): void;
}

type EventFields = Omit<ClusterEvent, 'atMs' | 'pid'>;

export class ClusterMember {
  readonly #options: MemberOptions;
  readonly #membership: Membership;
  readonly #leases: LeaseFile;
  readonly #watch = new LeaseWatch({
    leaseMs: limits.leaseMs,
    lookLateMs: limits.leaseRenewMs,
    graceMs: limits.leaseGraceMs,
  });
  readonly #hostings = new Map<number, Hosting>();
  readonly #moving = new Map<number, Promise<void>>();
  /** Instances that nobody hosts, and since when. */
  readonly #missing = new Map<number, number>();
  /** Not tried again before: an instance that could not be taken or opened. */
  readonly #notBefore = new Map<number, { atMs: number; pauseMs: number }>();
  #looking: NodeJS.Timeout | undefined;
  #retired = false;

  /**
   * Opens the process's own instance, taking it back from whoever hosts it meanwhile. Throws `INSTANCE_IN_USE`, and what
   * opening an instance throws.
   */
  static async join(options: MemberOptions): Promise<ClusterMember> {
    const member = new ClusterMember(options);
    try {
      const claim = await claimHome({
        instance: options.instance,
        membership: member.#membership,
        leases: member.#leases,
        watch: member.#watch,
      });
      await member.#host(options.instance, claim, 'home');
    } catch (error) {
      member.#closeFiles();
      throw error;
    }
    return member;
  }

  private constructor(options: MemberOptions) {
    this.#options = options;
    this.#membership = new Membership(options.dir, { busyMs: 0 });
    this.#leases = new LeaseFile(options.dir);
  }

  /** The instance whose own process this is. */
  get instance(): number {
    return this.#options.instance;
  }

  /** Own one first, then the guests, in the order in which they came. */
  get instances(): Instance[] {
    return [...this.#hostings.values()].map((hosting) => hosting.instance);
  }

  /** From now on takes over what nobody serves. In a cluster that starts, that is for when all had time to come. */
  watch(): void {
    this.#looking ??= setInterval(() => this.#look(), limits.leaseLookMs);
  }

  #look(): void {
    let hosts: Map<number, Host>;
    let members: Member[];
    try {
      const nowMs = monotonicMs(); // before the signs are read
      hosts = new Map(this.#membership.hosts().map((host) => [host.instance, host]));
      members = this.#membership.members();
      this.#watch.look(nowMs, hosts.values(), this.#leases.read());
    } catch {
      return; // the next look tries again
    }
    const byId = new Map(members.map((member) => [member.instance, member]));
    for (const hosting of this.#hostings.values()) {
      if (!this.#moving.has(hosting.id)) this.#tend(hosting, hosts.get(hosting.id), byId.get(hosting.id));
    }
    if (this.#retired) return;
    for (const { instance } of members) {
      // Its own one, once it has failed here, is for a new process or for the others.
      if (instance === this.#options.instance) continue;
      if (this.#hostings.has(instance) || this.#moving.has(instance)) continue;
      this.#consider(instance, hosts.get(instance));
    }
  }

  /** What is asked of an instance that this process hosts. */
  #tend(hosting: Hosting, host: Host | undefined, member: Member | undefined): void {
    const leaving = member?.leaving ?? false;
    hosting.instance.takesMessages = !leaving;
    if (hosting.role !== 'guest' || host?.claim !== hosting.claim) return;
    if (host.recalledBy !== null) this.#move(hosting.id, () => this.#giveBack(hosting, host.recalledBy!.pid));
    else if (leaving && hosting.instance.isEmpty) this.#move(hosting.id, () => this.#forget(hosting));
  }

  /** Takes an instance that nobody serves, those first that host fewest. */
  #consider(instance: number, host: Host | undefined): void {
    if (host !== undefined && this.#isServing(host)) {
      this.#missing.delete(instance);
      return;
    }
    const nowMs = monotonicMs();
    const since = this.#missing.get(instance) ?? nowMs;
    this.#missing.set(instance, since);
    const guests = this.#hostings.size + this.#moving.size - 1;
    // A returning process is as good as there: it needs no help unless it dies too.
    const returning = host?.recalledBy != null && isAlive(host.recalledBy);
    const patienceMs = guests * limits.guestDelayMs + (returning ? limits.leaseMs : 0);
    if (nowMs < since + patienceMs || nowMs < (this.#notBefore.get(instance)?.atMs ?? 0)) return;
    this.#move(instance, () => this.#takeOver(instance, host, since));
  }

  #isServing(host: Host): boolean {
    if (host.role === 'embedded') return isAlive(host);
    return mayBeAlive(host.pid) && !this.#watch.lapsed(host.instance);
  }

  async #takeOver(instance: number, host: Host | undefined, missingSince: number): Promise<void> {
    const killed = host !== undefined && isAlive(host);
    const from = host === undefined ? {} : { fromPid: host.pid, killed };
    if (killed && !(await endProcess(host))) {
      this.#tell({ type: 'takeover:blocked', instance, ...from });
      throw new QueueError('INSTANCE_IN_USE', { details: { instance, pid: host.pid } });
    }
    const claim = await changeMembership(() => this.#membership.claim(instance, 'guest'));
    await this.#host(instance, claim, 'guest');
    this.#missing.delete(instance);
    const tookMs = monotonicMs() - missingSince;
    this.#tell({ type: 'instance:taken-over', instance, ...from, tookMs });
  }

  async #host(id: number, claim: number, role: 'home' | 'guest'): Promise<void> {
    const startedAt = monotonicMs();
    const { writerSilentMsMax = limits.writerSilentMsDefault, serve } = this.#options;
    const hosting = await Hosting.open({
      id,
      claim,
      role,
      membership: this.#membership,
      leases: this.#leases,
      instance: this.#options,
      writerSilentMsMax,
      leaving: this.#membership.members().some((member) => member.instance === id && member.leaving),
      serve,
      onEnded: (error) => this.#onEnded(id, error),
    });
    this.#hostings.set(id, hosting);
    if (hosting.instance.ended !== undefined) this.#move(id, () => this.#release(hosting));
    const tookMs = monotonicMs() - startedAt;
    const { epoch } = hosting.instance;
    this.#tell({ type: 'lease:taken', instance: id, role, claim, epoch, tookMs });
  }

  /** The instance stopped by itself: it is closed and free, for this process or another one to recover it. */
  #onEnded(instance: number, error: QueueError): void {
    const { code, message } = error;
    const type = code === 'INSTANCE_FENCED' ? 'instance:fenced' : 'instance:failed';
    this.#tell({ type, instance, code, message });
    const hosting = this.#hostings.get(instance);
    if (hosting !== undefined) this.#move(instance, () => this.#release(hosting));
  }

  async #giveBack(hosting: Hosting, toPid: number): Promise<void> {
    const startedAt = monotonicMs();
    await this.#release(hosting);
    const tookMs = monotonicMs() - startedAt;
    this.#tell({ type: 'instance:given-back', instance: hosting.id, toPid, tookMs });
  }

  async #forget(hosting: Hosting): Promise<void> {
    await this.#release(hosting);
    await changeMembership(() => this.#membership.forgetMember(hosting.id));
    this.#tell({ type: 'instance:forgotten', instance: hosting.id });
  }

  async #release(hosting: Hosting): Promise<void> {
    try {
      await hosting.close();
    } finally {
      this.#hostings.delete(hosting.id);
    }
  }

  #move(instance: number, work: () => Promise<void>): void {
    const moving = (this.#moving.get(instance) ?? Promise.resolve())
      .then(work)
      .then(() => void this.#notBefore.delete(instance))
      .catch((error: unknown) => this.#onMoveFailed(instance, error))
      .finally(() => {
        if (this.#moving.get(instance) === moving) this.#moving.delete(instance);
      });
    this.#moving.set(instance, moving);
  }

  #onMoveFailed(instance: number, error: unknown): void {
    const { code = 'INTERNAL', message } = error as Partial<QueueError>;
    if (code !== 'INSTANCE_IN_USE') {
      this.#tell({ type: 'instance:failed', instance, code, message: message ?? String(error) });
    }
    const before = this.#notBefore.get(instance)?.pauseMs ?? limits.takeoverRetryMsMin / 2;
    const pauseMs = Math.min(before * 2, limits.takeoverRetryMsMax);
    this.#notBefore.set(instance, { atMs: monotonicMs() + pauseMs, pauseMs });
  }

  #tell(fields: EventFields): void {
    this.#options.onEvent({ ...fields, atMs: Date.now(), pid: process.pid });
  }

  /** Takes nothing over any more: the whole cluster is ending. */
  retire(): void {
    this.#retired = true;
  }

  /** Hands over what this process hosts: closed in order and free for others. */
  async leave(): Promise<void> {
    this.retire();
    clearInterval(this.#looking);
    await Promise.all(this.#moving.values());
    await Promise.all(
      [...this.#hostings.values()].map(async (hosting) => {
        await this.#release(hosting);
        this.#tell({ type: 'instance:released', instance: hosting.id });
      }),
    );
    this.#closeFiles();
  }

  #closeFiles(): void {
    this.#leases.close();
    this.#membership.close();
  }
}
