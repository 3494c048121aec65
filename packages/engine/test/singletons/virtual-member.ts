/**
 * A process of a cluster that is an object in the process of the test, with real files, threads and leases. This module decides what it
 * knows of other processes: a killed one only counts as dead and keeps running, which gives the worst case of a replaced holder that
 * continues to write. Its time runs faster than the machine's, and the clock of each member can be set.
 */

import { limits } from '../../src/api/limits.ts';
import type { ClusterEvent } from '../../src/cluster/cluster-events.ts';
import { ClusterMember } from '../../src/cluster/cluster-member.ts';
import { nodeClusterPorts } from '../../src/cluster/node-cluster-ports.ts';
import type { ClusterPorts } from '../../src/cluster/processes.ts';
import type { ServiceInfo, ServiceSpec } from '../../src/index.ts';
import type { Timer } from '../../src/model/ports.ts';
import { LeaseFile } from '../../src/storage/catalog/lease-file.ts';

const timesFaster = 4;
let lastPid = 1_000;

/** The processes of one machine, as its members see them. */
export class VirtualMachine {
  readonly #alive = new Set<number>();
  readonly stopped = new Set<number>();

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
  readonly #machine: VirtualMachine;
  #frozen: (() => void)[] | undefined;
  #member: ClusterMember | undefined;
  #leaving: Promise<void> | undefined;

  static async join(
    machine: VirtualMachine,
    options: { dir: string; instance: number; services: ServiceSpec[] },
  ): Promise<VirtualMember> {
    const member = new VirtualMember(machine, options.instance);
    const ports = member.#ports(machine);
    member.#member = await ClusterMember.join({
      ...options,
      ports,
      heartbeat: member.#startHeartbeat(options.dir, ports),
      serve: async () => ({ close: async () => undefined }),
      onEvent: (event) => void member.events.push(event),
    });
    member.#member.startFailover();
    return member;
  }

  private constructor(machine: VirtualMachine, instance: number) {
    this.#machine = machine;
    this.instance = instance;
    this.pid = machine.newPid();
  }

  /** The real one is a thread, which this module cannot stop. */
  #startHeartbeat(dir: string, { timers, machineClock }: ClusterPorts): { close(): void } {
    const file = new LeaseFile(dir);
    const timer = timers.every(limits.leaseRenewMs, () =>
      file.writeHeartbeat(this.instance, {
        pid: this.pid,
        expiresAtMs: machineClock.nowMs() + limits.leaseMs,
        turnlessMs: 0,
      }),
    );
    return {
      close: () => {
        timer.cancel();
        file.close();
      },
    };
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
        isStopped: (pid) => machine.stopped.has(pid),
        hasKnownStart: () => true,
        kill: (pid) => {
          machine.declareDead(pid);
          return true;
        },
      },
    };
  }

  /** Stops its timers, and with them its heartbeat and its checks of others, like a stopped process that can resume. */
  freeze(): void {
    this.#machine.stopped.add(this.pid);
    this.#frozen ??= [];
  }

  thaw(): void {
    this.#machine.stopped.delete(this.pid);
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
