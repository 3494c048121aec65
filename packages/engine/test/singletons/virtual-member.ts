/**
 * A process of a cluster that is an object in the process of the test, with real files, threads and leases. This module decides what it
 * knows of other processes: a killed one only counts as dead and keeps running, which gives the worst case of a replaced holder that
 * continues to write. Its time runs faster than the machine's, and the clock of each member can be set.
 */
import type { ClusterEvent } from '../../src/cluster/cluster-events.ts';
import { ClusterMember } from '../../src/cluster/cluster-member.ts';
import { nodeClusterPorts } from '../../src/cluster/node-cluster-ports.ts';
import type { ClusterPorts } from '../../src/cluster/processes.ts';
import type { ServiceInfo, ServiceSpec } from '../../src/index.ts';
import type { Timer } from '../../src/model/ports.ts';

const timesFaster = 4;
let lastPid = 1_000;

/** The processes of one machine, as its members see them. */
export class VirtualMachine {
  readonly #alive = new Set<number>();

  newPid(): number {
    lastPid += 1;
    this.#alive.add(lastPid);
    return lastPid;
  }

  isAlive(pid: number): boolean {
    return this.#alive.has(pid);
  }

  /** Lets the other processes take it for dead, although it continues. */
  declareDead(pid: number): void {
    this.#alive.delete(pid);
  }
}

export class VirtualMember {
  readonly instance: number;
  readonly pid: number;
  readonly events: ClusterEvent[] = [];
  /** By how much its clocks are wrong, ms. */
  machineClockOffMs = 0;
  wallClockOffMs = 0;
  #frozen: (() => void)[] | undefined;
  #member: ClusterMember | undefined;
  #leaving: Promise<void> | undefined;

  static async join(
    machine: VirtualMachine,
    options: { dir: string; instance: number; services: ServiceSpec[] },
  ): Promise<VirtualMember> {
    const member = new VirtualMember(machine, options.instance);
    member.#member = await ClusterMember.join({
      ...options,
      ports: member.#ports(machine),
      serve: async () => ({ close: async () => undefined }),
      onEvent: (event) => void member.events.push(event),
    });
    member.#member.startFailover();
    return member;
  }

  private constructor(machine: VirtualMachine, instance: number) {
    this.instance = instance;
    this.pid = machine.newPid();
  }

  #ports(machine: VirtualMachine): ClusterPorts {
    const { clock, timers, machineClock, processes } = nodeClusterPorts;
    const later =
      (start: (ms: number, callback: () => void) => Timer) =>
      (ms: number, callback: () => void): Timer =>
        start(Math.max(1, ms / timesFaster), () => this.#whenThawed(callback));
    return {
      ...nodeClusterPorts,
      clock: {
        epochMs: () => clock.epochMs() + this.wallClockOffMs,
        monotonicMs: () => clock.monotonicMs() * timesFaster,
      },
      machineClock: { nowMs: () => machineClock.nowMs() * timesFaster + this.machineClockOffMs },
      timers: {
        after: later((ms, callback) => timers.after(ms, callback)),
        deadline: later((ms, callback) => timers.deadline(ms, callback)),
        every: later((ms, callback) => timers.every(ms, callback)),
        nextTurn: timers.nextTurn,
      },
      processes: {
        ...processes,
        self: { pid: this.pid, started: `virtual ${this.pid}` },
        isAlive: ({ pid }) => machine.isAlive(pid),
        mayBeAlive: (pid) => machine.isAlive(pid),
        hasKnownStart: () => true,
        kill: (pid) => {
          machine.declareDead(pid);
          return true;
        },
      },
    };
  }

  /** Stops its timers, and with them the renewal of its lease and its checks of others, like a stopped process that can resume. */
  freeze(): void {
    this.#frozen ??= [];
  }

  thaw(): void {
    const due = this.#frozen ?? [];
    this.#frozen = undefined;
    for (const callback of due) callback();
  }

  #whenThawed(callback: () => void): void {
    if (this.#frozen === undefined) callback();
    else if (!this.#frozen.includes(callback)) this.#frozen.push(callback);
  }

  /** Whether its own instance has failed or was fenced. */
  get lostOwnInstance(): boolean {
    return this.events.some(
      ({ type, instance }) =>
        instance === this.instance && (type === 'instance:failed' || type === 'instance:fenced'),
    );
  }

  /** The state of its service; undefined if it does not host the service's instance. */
  service(preferred: number): ServiceInfo | undefined {
    const instance = this.#member?.instances.find(({ id }) => id === preferred);
    return instance?.services()[0];
  }

  leave(): Promise<void> {
    this.thaw();
    this.#leaving ??= this.#member?.leave() ?? Promise.resolve();
    return this.#leaving;
  }
}
