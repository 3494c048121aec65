/**
 * Keeps all processes of a cluster running. Reads no files: its owner passes in which process hosts which instance, so that a
 * test can run it with fake processes and time.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { FailureDetector, type Life } from '../../model/failure-detector.ts';
import type { InstanceId, Pid } from '../../model/ids.ts';
import { canHost } from '../../model/process-life.ts';
import type { Leases } from '../../storage/catalog/lease-file.ts';
import type { Host } from '../../storage/catalog/membership.ts';
import { SupervisedProcess, type SupervisedProcessOptions } from './supervised-process.ts';

export type ProcessSupervisorOptions = Omit<SupervisedProcessOptions, 'options' | 'onOpened' | 'onEnded'>;

export class ProcessSupervisor {
  readonly #options: ProcessSupervisorOptions;
  readonly #processes = new Map<InstanceId, SupervisedProcess>();
  readonly #detector = new FailureDetector();
  /** Since when a process has counted as failed, by pid, monotonic ms. */
  #failedSinceMs = new Map<Pid, number>();
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

  /**
   * Starts the process of the instance, with which the instance becomes a member of the cluster if it `joins`. Resolves when it serves.
   * Throws `PROCESS_RUNNING`, and what opening throws.
   */
  async start(options: SupervisedProcessOptions['options'], { joins = false } = {}): Promise<void> {
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
    await supervised.start({ joins });
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
   * Reports processes that are slow, and kills those that failed, for the case that no other process of the cluster is left to do that.
   * A process that starts is judged as one that serves. Call it every `supervisorCheckMs`.
   */
  check(nowMs: number, hosts: readonly Host[], { hostings, heartbeats }: Leases): void {
    const { processes } = this.#options.ports;
    const checked = [...this.all].flatMap((supervised) => {
      const { pid, state } = supervised;
      return pid !== undefined && (state === 'starting' || state === 'running') ? [{ supervised, pid }] : [];
    });
    const pids = checked.map(({ pid }) => pid);
    this.#detector.observe(nowMs, pids, heartbeats, (pid) => processes.isStopped(pid));
    const failedSinceMs = new Map<Pid, number>();
    for (const { supervised, pid } of checked) {
      const life = this.#detector.lifeOf(pid);
      supervised.noteUnresponsive(life === 'responsive' ? 0 : this.#detector.unresponsiveMsOf(pid));
      const claim = hosts.find((host) => host.instance === supervised.instance && host.pid === pid)?.claim;
      const unhealthySinceMs = hostings.find((hosting) => hosting.claim === claim)?.unhealthySinceMs ?? 0;
      const failure = failures[life] ?? (unhealthySinceMs > 0 ? unhealthyText : undefined);
      if (failure === undefined) continue;
      const sinceMs = this.#failedSinceMs.get(pid) ?? Math.max(nowMs, unhealthySinceMs + limits.leaseMs);
      failedSinceMs.set(pid, sinceMs);
      if (nowMs - sinceMs >= limits.processHungMsMax)
        supervised.killHung(new QueueError('LEASE_LAPSED', { message: failure }));
    }
    this.#failedSinceMs = failedSinceMs;
  }
}

/** Why a process is killed. None for one that is slow. */
const failures: Readonly<Partial<Record<Life, string>>> = {
  stopped: 'The process is stopped by a signal',
  hung: `The event loop of the process made no turn for ${limits.turnlessMsMax / 1_000} s`,
};
const unhealthyText = 'The process cannot serve its instance any more';
