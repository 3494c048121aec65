/**
 * Keeps all processes of a cluster running. Reads no files: its owner passes in which process hosts which instance, so that a
 * test can run it with fake processes and time.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { InstanceId, Pid } from '../../model/ids.ts';
import { type LeaseHeartbeat, LeaseMonitor } from '../../model/lease-monitor.ts';
import { canHost } from '../../model/process-life.ts';
import type { Host } from '../../storage/catalog/membership.ts';
import { SupervisedProcess, type SupervisedProcessOptions } from './supervised-process.ts';

export type ProcessSupervisorOptions = Omit<SupervisedProcessOptions, 'options' | 'onOpened' | 'onEnded'>;

export class ProcessSupervisor {
  readonly #options: ProcessSupervisorOptions;
  readonly #processes = new Map<InstanceId, SupervisedProcess>();
  readonly #leaseMonitor = new LeaseMonitor({
    leaseMs: limits.leaseMs,
    openingMs: limits.openingLeaseMs,
    scanLateMs: limits.supervisorCheckMs * 2,
    graceMs: limits.leaseGraceMs,
  });
  /** Since when the lease of a process has been lapsed, by pid, monotonic ms. */
  #withoutLeaseSinceMs = new Map<Pid, number>();
  #failoverStarted = false;
  #ending = false;

  constructor(options: ProcessSupervisorOptions) {
    this.#options = options;
  }

  get all(): Iterable<SupervisedProcess> {
    return this.#processes.values();
  }

  find(instance: InstanceId): SupervisedProcess | undefined {
    return this.#processes.get(instance);
  }

  /** Starts the process of the instance. Resolves when it serves. Throws `PROCESS_RUNNING`, and what opening throws. */
  async start(options: SupervisedProcessOptions['options']): Promise<void> {
    const { instance } = options;
    let supervised = this.#processes.get(instance);
    if (supervised === undefined) {
      supervised = new SupervisedProcess({
        ...this.#options,
        options,
        onOpened: (opened) => {
          if (this.#failoverStarted) opened.startFailover();
        },
        onEnded: () => this.#reviveKilled(),
      });
      this.#processes.set(instance, supervised);
    }
    await supervised.start();
  }

  /** Lets processes take over instances that no process serves. Call it only when all processes of a new cluster are up. */
  startFailover(): void {
    this.#failoverStarted = true;
    for (const supervised of this.all) supervised.startFailover();
  }

  /** Ends the process of an instance that leaves the cluster, and forgets it. */
  async remove(instance: InstanceId): Promise<void> {
    await this.#processes.get(instance)?.end();
    this.#processes.delete(instance);
  }

  async end(): Promise<void> {
    this.#ending = true;
    const all = [...this.all];
    await Promise.all(all.map((supervised) => supervised.stopFailover()));
    await Promise.all(all.map((supervised) => supervised.end()));
  }

  /** A process that was killed as asked stays down only while another one could host its instance. */
  #reviveKilled(): void {
    if (this.#ending || !this.#options.restarts) return;
    const states = [...this.all].map(({ state }) => state);
    if (states.some((state) => canHost(state) || state === 'killing')) return;
    for (const supervised of this.all) if (supervised.state === 'killed') supervised.revive();
  }

  /**
   * Kills processes that hang, for the case that no other process of the cluster is left to do that. `nowMs` must be read
   * before the heartbeats.
   */
  killHung(nowMs: number, hosts: readonly Host[], heartbeats: readonly LeaseHeartbeat[]): void {
    this.#leaseMonitor.observe(nowMs, hosts, heartbeats);
    const pidOf = new Map(hosts.map(({ instance, pid }) => [instance, pid]));
    const withoutLease = new Map<Pid, number>();
    for (const supervised of this.all) {
      const { instance, pid, state } = supervised;
      if (pid === undefined || (state !== 'starting' && state !== 'running')) continue;
      if (pidOf.get(instance) !== pid) {
        if (supervised.countSilentCheck() >= limits.processSilentMsMax) supervised.killHung(silentError());
        continue;
      }
      if (!this.#leaseMonitor.hasLapsed(instance)) continue;
      const sinceMs = this.#withoutLeaseSinceMs.get(pid) ?? nowMs;
      withoutLease.set(pid, sinceMs);
      if (nowMs - sinceMs < limits.processHungMsMax) continue;
      withoutLease.delete(pid);
      supervised.killHung(new QueueError('LEASE_LAPSED', { message: 'The process did not renew its lease' }));
    }
    this.#withoutLeaseSinceMs = withoutLease;
  }
}

function silentError(): QueueError {
  return new QueueError('PROCESS_NOT_RUNNING', {
    message: `The process gave no sign of life for ${limits.processSilentMsMax / 1_000} s while it opened its instance`,
  });
}
