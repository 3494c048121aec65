/**
 * A supervisor with simulated processes, leases and time. To the supervisor the processes behave like those of a cluster: they open
 * their instance, take over others, renew leases, return instances, fail and end.
 */

import { QueueError } from '../../src/api/errors.ts';
import { limits } from '../../src/api/limits.ts';
import type { ClusterEvent } from '../../src/cluster/cluster-events.ts';
import type { ClusterPorts, ForkedProcess } from '../../src/cluster/processes.ts';
import type {
  InstanceProcessMessage,
  SupervisorMessage,
} from '../../src/cluster/supervisor/process-messages.ts';
import { ProcessSupervisor } from '../../src/cluster/supervisor/process-supervisor.ts';
import type { ProcessCommand, ProcessState } from '../../src/model/process-life.ts';
import { nodeClocks } from '../../src/node-clocks.ts';
import { Chance, drainPromises, Scheduler, SimulatedPorts } from '../simulator/scheduler.ts';

interface VirtualHost {
  pid: number;
  claim: number;
  /** The instance is open: it is served as long as the process runs. */
  isOpen: boolean;
  recalledBy: VirtualProcess | undefined;
}

/** A process as the supervisor forked it. */
export class VirtualProcess implements ForkedProcess {
  readonly pid: number;
  readonly #machine: VirtualCluster;
  instance = 0;
  connected = true;
  isFrozen = false;
  /** Its event loop makes no turn, though the process and its heartbeat run; a simulated process works on in its own events. */
  turnlessSinceMs: number | undefined;
  /** Of the last heartbeat. */
  expiresAtMs = 0;
  #failover = false;
  readonly #listeners = new Map<string, (...args: never[]) => void>();

  constructor(machine: VirtualCluster, pid: number) {
    this.#machine = machine;
    this.pid = pid;
  }

  get isAlive(): boolean {
    return this.connected;
  }

  get works(): boolean {
    return this.connected && !this.isFrozen;
  }

  on(event: string, listener: (...args: never[]) => void): void {
    this.#listeners.set(event, listener);
  }

  once(event: string, listener: (...args: never[]) => void): void {
    this.#listeners.set(event, listener);
  }

  send(message: SupervisorMessage): void {
    const machine = this.#machine;
    machine.later(1, 1, () => {
      if (!this.works) return;
      if (message.type === 'open') {
        this.instance = message.options.instance;
        machine.later(20, 400, () => this.#open()); // The time in which a process loads its modules.
      } else if (message.type === 'start-failover') {
        this.#failover = true;
        this.#scan();
      } else if (message.type === 'stop-failover') {
        this.#failover = false;
        this.sendToSupervisor({ type: 'failover-stopped' });
      } else if (message.type === 'close') machine.later(1, 50, () => this.end(0, null));
    });
  }

  kill(signal: NodeJS.Signals): void {
    if (signal === 'SIGSTOP') this.isFrozen = true;
    else if (signal === 'SIGCONT') this.isFrozen = false;
    else this.#machine.later(0, 3, () => this.end(null, signal));
  }

  sendToSupervisor(message: InstanceProcessMessage): void {
    this.#machine.later(0, 2, () => {
      if (this.connected) this.#listeners.get('message')?.(message as never);
    });
  }

  end(exitCode: number | null, signal: string | null): void {
    if (!this.connected) return;
    this.connected = false;
    this.#listeners.get('exit')?.(exitCode as never, signal as never);
  }

  #open(): void {
    if (!this.works) return;
    const { hosts } = this.#machine;
    const host = hosts.get(this.instance);
    if (host !== undefined && host.pid !== this.pid && this.#machine.isAlive(host.pid)) {
      host.recalledBy = this; // The failover host is to return the instance.
      this.#machine.later(25, 25, () => this.#open());
      return;
    }
    if (host?.pid !== this.pid) this.#machine.claim(this.instance, this.pid);
    this.#openClaimed(this.instance, () => this.sendToSupervisor({ type: 'opened' }));
  }

  #openClaimed(instance: number, onOpen: () => void): void {
    this.#machine.later(20, 150, () => {
      const host = this.#machine.hosts.get(instance);
      if (!this.works || host?.pid !== this.pid) return;
      const failure = this.#machine.failureOf(instance);
      if (failure === undefined) {
        host.isOpen = true;
        onOpen();
        return;
      }
      this.#machine.hosts.delete(instance);
      if (instance !== this.instance) return;
      const { code, message } = failure;
      this.sendToSupervisor({ type: 'failed', code, message, details: {} });
      this.#machine.later(3, 3, () => this.end(1, null));
    });
  }

  /** Takes over instances that no process serves, and returns instances that their owners recall. */
  #scan(): void {
    if (!this.#failover || !this.works) return;
    const machine = this.#machine;
    for (const instance of machine.instances) {
      const host = machine.hosts.get(instance);
      const recalledBy = host?.recalledBy;
      if (host?.pid === this.pid && host.isOpen && recalledBy !== undefined) {
        if (machine.keepsRecalled) continue;
        machine.hosts.delete(instance);
        if (recalledBy.isAlive) machine.claim(instance, recalledBy.pid);
      } else if (!machine.isLeased(instance) && instance !== this.instance) {
        if (host !== undefined) machine.find(host.pid)?.end(null, 'SIGKILL');
        machine.claim(instance, this.pid);
        this.#openClaimed(instance, () => undefined);
      }
    }
    machine.later(limits.leaseCheckMs, limits.leaseCheckMs * 2, () => this.#scan());
  }
}

export class VirtualCluster {
  readonly chance: Chance;
  readonly instances: readonly number[];
  readonly hosts = new Map<number, VirtualHost>();
  readonly events: ClusterEvent[] = [];
  readonly supervisor: ProcessSupervisor;
  givenUp: QueueError | undefined;
  /** The error with which any process fails to open the instance. */
  failureOf: (instance: number) => QueueError | undefined = () => undefined;
  /** While set, busy failover hosts do not return instances that their owners recall. */
  keepsRecalled = false;
  readonly #scheduler = new Scheduler();
  readonly #processes: VirtualProcess[] = [];
  #lastClaim = 0;

  constructor({ seed, instances, restarts = true }: { seed: number; instances: number; restarts?: boolean }) {
    this.chance = new Chance(seed);
    this.instances = Array.from({ length: instances }, (_, index) => index + 1);
    const simulated = new SimulatedPorts(this.#scheduler, this.chance);
    const ports: ClusterPorts = {
      clock: simulated.clock,
      machineClock: { nowMs: () => this.nowMs },
      thread: nodeClocks.thread,
      timers: simulated.timers,
      random: simulated.random,
      processes: {
        usage: () => ({ cpuUs: 0, rssBytes: 0 }),
        self: { pid: 1, started: 'boot' },
        isAlive: ({ pid }) => this.isAlive(pid),
        mayBeAlive: (pid) => this.isAlive(pid),
        isStopped: (pid) => this.find(pid)?.isFrozen ?? false,
        hasKnownStart: () => true,
        kill: () => true,
        start: () => {
          throw new Error('virtual instances have no files, and so no writer');
        },
        fork: () => {
          const process = new VirtualProcess(this, 100 + this.#processes.length);
          this.#processes.push(process);
          return process;
        },
      },
    };
    this.supervisor = new ProcessSupervisor({
      execArgv: [],
      ports,
      restarts,
      isServed: (instance) => this.isServed(instance),
      onEvent: (event) => void this.events.push(event),
      onGivenUp: (error) => {
        this.givenUp = error;
      },
    });
    ports.timers.every(limits.supervisorCheckMs, () => this.#check());
    ports.timers.every(limits.leaseRenewMs, () => this.#beat());
  }

  get nowMs(): number {
    return this.#scheduler.nowMs;
  }

  get living(): VirtualProcess[] {
    return this.#processes.filter(({ isAlive }) => isAlive);
  }

  get timersLeft(): number {
    return this.#scheduler.size;
  }

  later(minMs: number, maxMs: number, callback: () => void): void {
    this.#scheduler.after(this.chance.between(minMs, maxMs), callback);
  }

  find(pid: number): VirtualProcess | undefined {
    return this.#processes.find((process) => process.pid === pid);
  }

  isAlive(pid: number): boolean {
    return this.find(pid)?.isAlive ?? false;
  }

  claim(instance: number, pid: number): void {
    this.#lastClaim += 1;
    this.hosts.set(instance, { pid, claim: this.#lastClaim, isOpen: false, recalledBy: undefined });
  }

  /** Whether the host of the instance is alive, and not stopped for a lease. */
  isLeased(instance: number): boolean {
    const host = this.hosts.get(instance);
    const process = host && this.find(host.pid);
    if (!process?.isAlive) return false;
    return !process.isFrozen || this.nowMs < process.expiresAtMs;
  }

  isServed(instance: number): boolean {
    const host = this.hosts.get(instance);
    return host?.isOpen === true && this.find(host.pid)?.works === true;
  }

  get isInService(): boolean {
    return this.instances.every((instance) => this.isServed(instance));
  }

  #beat(): void {
    for (const process of this.living) if (process.works) process.expiresAtMs = this.nowMs + limits.leaseMs;
  }

  #check(): void {
    const hosts = [...this.hosts].map(([instance, { pid, claim }]) => {
      return { instance, pid, claim, started: 'boot', role: 'owner' as const, recalledBy: null };
    });
    const hostings = [...this.hosts].map(([instance, { claim, isOpen }]) => {
      return { instance, claim, epoch: isOpen ? 1 : 0, unhealthySinceMs: 0, failed: false };
    });
    const heartbeats = this.living.flatMap(({ pid, expiresAtMs, turnlessSinceMs }) => {
      const turnlessMs = turnlessSinceMs === undefined ? 0 : this.nowMs - turnlessSinceMs;
      return expiresAtMs === 0 ? [] : [{ pid, expiresAtMs, turnlessMs }];
    });
    this.supervisor.check(this.nowMs, hosts, { hostings, heartbeats });
  }

  async start(): Promise<void> {
    for (const instance of this.instances) void this.launch(instance).catch(() => undefined);
    await this.runUntil(() => this.isInService || this.givenUp !== undefined);
    this.supervisor.startFailover();
  }

  launch(instance: number): Promise<void> {
    return this.supervisor.start({ dir: '/virtual', instance, writerSilentMsMax: 5_000 });
  }

  /** Lets time pass until the condition holds; returns whether it did within `ms`. */
  async runUntil(holds: () => boolean, ms = 60_000): Promise<boolean> {
    const untilMs = this.nowMs + ms;
    await drainPromises();
    while (!holds()) {
      if (!this.#scheduler.runNext(untilMs)) return false;
      await drainPromises();
    }
    return true;
  }

  async run(ms: number): Promise<void> {
    await this.runUntil(() => false, ms);
  }
}

/** One supervised process that a test brings into each state. */
export class SupervisedCase {
  readonly #cluster = new VirtualCluster({ seed: 1, instances: 2 });

  /** Starts a second process as well, since a requested kill is permanent only while another process runs. */
  static async create(): Promise<SupervisedCase> {
    const subject = new SupervisedCase();
    void subject.#cluster.launch(2);
    await subject.#cluster.runUntil(() => subject.#cluster.isServed(2));
    return subject;
  }

  get #process() {
    return this.#cluster.supervisor.find(1);
  }

  get state(): ProcessState {
    return this.#process?.state ?? 'stopped';
  }

  /** Makes the command happen, and lets time pass until the state has changed if that takes a while. */
  async do(command: ProcessCommand): Promise<void> {
    const until = (state: ProcessState) => this.#cluster.runUntil(() => this.state === state);
    switch (command) {
      case 'open':
        await until('running');
        break;
      case 'end':
        this.#cluster.find(this.#process!.pid!)!.end(1, null);
        break;
      case 'restart':
        if (this.state === 'killed') this.#process!.revive();
        else await until('starting');
        break;
      case 'giveUp':
        this.#cluster.failureOf = () => new QueueError('STORAGE_CORRUPT');
        await until('givenUp');
        break;
      default:
        await this.attempt(command);
    }
  }

  /** Gives a command that a caller may give at any time. Does nothing for commands that only the process or time can cause. */
  async attempt(command: ProcessCommand): Promise<void> {
    const process = this.#process;
    const refused = (error: unknown) => {
      if (!(error instanceof QueueError) || !error.code.startsWith('PROCESS_')) throw error;
    };
    try {
      if (command === 'start') void this.#cluster.launch(1).catch(refused);
      else if (command === 'stop') void process?.stop().catch(refused);
      else if (command === 'kill' || command === 'pause' || command === 'resume') process?.[command]();
    } catch (error) {
      refused(error);
    }
    await drainPromises();
  }
}
