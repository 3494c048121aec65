/**
 * Watches the processes that host instances, as one process of the cluster sees them, and says which of them an instance has lost. The
 * rule for a process is `failure-detector.ts`; a host can also ask to be replaced, because its instance cannot be served any more.
 */
import { limits } from '../api/limits.ts';
import { FailureDetector } from '../model/failure-detector.ts';
import type { ClaimNumber, InstanceId, Pid } from '../model/ids.ts';
import type { Hosting, Leases } from '../storage/catalog/lease-file.ts';
import type { Host } from '../storage/catalog/membership.ts';
import type { ClusterPorts } from './processes.ts';

/** Why another process must host the instance. */
export type HostLoss = 'gone' | 'stopped' | 'hung' | 'unhealthy';

/** For people. */
export const lossTexts: Readonly<Record<HostLoss, string>> = {
  gone: 'its process had ended',
  stopped: 'its process had been stopped by a signal',
  hung: 'the event loop of its process made no turn any more',
  unhealthy: 'its process could not serve it any more',
};

export class HostWatch {
  readonly #ports: Pick<ClusterPorts, 'machineClock' | 'processes'>;
  readonly #detector: FailureDetector;
  #hostings = new Map<ClaimNumber, Hosting>();
  #checkedAtMs = 0;

  /** `turnlessMsMax`: default 30,000. */
  constructor(ports: Pick<ClusterPorts, 'machineClock' | 'processes'>, turnlessMsMax?: number) {
    this.#ports = ports;
    this.#detector = new FailureDetector(turnlessMsMax);
  }

  /** Records a check. Call it every `leaseCheckMs`. */
  observe(hosts: Iterable<Host>, { hostings, heartbeats }: Leases): void {
    const { machineClock, processes } = this.#ports;
    this.#checkedAtMs = machineClock.nowMs();
    this.#hostings = new Map(hostings.map((hosting) => [hosting.claim, hosting]));
    const hostOf = new Map([...hosts].map((host) => [host.pid, host]));
    // Of no use where the process could not be killed safely, and expensive there.
    const isStopped = (pid: Pid) => processes.hasKnownStart(hostOf.get(pid)!) && processes.isStopped(pid);
    this.#detector.observe(this.#checkedAtMs, hostOf.keys(), heartbeats, isStopped);
  }

  /** Undefined while a process hosts the instance, or will soon, however slow it is. `host` must have been observed. */
  lossOf(host: Host): HostLoss | undefined {
    if (!this.#exists(host)) return 'gone';
    // A program that opened the instance for itself gives no signs of life.
    if (host.role === 'embedded') return undefined;
    const life = this.#detector.lifeOf(host.pid);
    if (life === 'stopped' || life === 'hung') return life;
    const unhealthySinceMs = this.#hostings.get(host.claim)?.unhealthySinceMs ?? 0;
    const asksToBeReplaced = unhealthySinceMs > 0 && this.#checkedAtMs - unhealthySinceMs >= limits.leaseMs;
    return asksToBeReplaced ? 'unhealthy' : undefined;
  }

  #exists(host: Host): boolean {
    const { processes } = this.#ports;
    const isCertain = host.role === 'embedded' || this.#detector.isSuspect(host.pid);
    return isCertain ? processes.isAlive(host) : processes.mayBeAlive(host.pid);
  }

  /** What the last host of the instance said about it, whether it still hosts it or not. */
  lastHosting(instance: InstanceId): Hosting | undefined {
    return [...this.#hostings.values()].find((hosting) => hosting.instance === instance);
  }
}
