/** Each instance runs in its own process; the server is their supervisor and a client of all of them. */
import type { ClusterEvent, ClusterProcess } from '@shardlab/contract';
import { type Cluster, type ClusterClient, connectCluster, QueueError, startCluster } from '@shardlab/engine';
import {
  type Backend,
  type BackendOptions,
  failureOf,
  type HostedMetrics,
  type InstanceQueues,
  type InstanceState,
  localStore,
  type ProbeResult,
  type ProcessSignal,
} from './backend.ts';

export class ProcessBackend implements Backend {
  readonly placement = 'processes';
  readonly store = localStore;
  readonly queues: ClusterClient;
  readonly #cluster: Cluster;
  readonly #restarts: ReadonlyMap<number, number>;

  /** Without `instances`, the number of instances that the folder records. Throws what `startCluster` throws. */
  static async open(
    dir: string,
    { services, extension, onUnrecoverable }: BackendOptions,
    instances?: number,
  ): Promise<ProcessBackend> {
    const restarts = new Map<number, number>();
    const onEvent = ({ type, instance }: ClusterEvent) => {
      if (type === 'process:restarting') restarts.set(instance, (restarts.get(instance) ?? 0) + 1);
    };
    const size = instances === undefined ? {} : { instances };
    const cluster = await startCluster({ dir, ...size, services, extension, onEvent, onUnrecoverable });
    try {
      return new ProcessBackend(cluster, connectCluster({ dir }), restarts);
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  private constructor(cluster: Cluster, queues: ClusterClient, restarts: ReadonlyMap<number, number>) {
    this.#cluster = cluster;
    this.#restarts = restarts;
    this.queues = queues;
  }

  topology(): InstanceState[] {
    return this.#cluster.topology();
  }

  async metrics(): Promise<{ processes: ClusterProcess[]; hosted: HostedMetrics[] }> {
    const stats = await this.#cluster.stats();
    return {
      processes: stats.map(({ instance, pid, cpuUs, rssBytes }) => ({
        instance,
        pid,
        cpuMs: cpuUs / 1000,
        rssBytes,
      })),
      hosted: stats.flatMap(({ hosted }) => hosted),
    };
  }

  queuesByInstance(): Promise<InstanceQueues[]> {
    return this.queues.queuesByInstance();
  }

  async probe(): Promise<ProbeResult[]> {
    const probes = await this.queues.probe();
    const stateOf = new Map(this.topology().map((state) => [state.instance, state]));
    return probes.map(({ instance, failure }) => {
      const { restart = null, host = null } = stateOf.get(instance) ?? {};
      if (host !== null && host.unresponsiveMs !== null)
        return { instance, failure: slowFailure(instance, host.pid, host.unresponsiveMs) };
      // If no process answers, the reason why there is none says more than the failed call.
      if (restart !== null && failure?.code === 'INSTANCE_UNREACHABLE')
        return { instance, failure: { code: restart.code, message: restart.message } };
      return { instance, failure: failure === undefined ? null : failureOf(failure) };
    });
  }

  restarts(): ReadonlyMap<number, number> {
    return this.#restarts;
  }

  events(): ClusterEvent[] {
    return this.#cluster.events();
  }

  kill(instance: number, signal: ProcessSignal): void {
    if (signal === 'SIGSTOP') this.#cluster.pause(instance);
    else if (signal === 'SIGCONT') this.#cluster.resume(instance);
    else this.#cluster.kill(instance);
  }

  stop(instance: number): Promise<void> {
    return this.#cluster.stop(instance);
  }

  start(instance: number): Promise<void> {
    return this.#cluster.start(instance);
  }

  async resize(instances: number): Promise<boolean> {
    await this.#cluster.resize(instances);
    return true;
  }

  async close(): Promise<void> {
    await this.queues.close();
    await this.#cluster.close();
  }
}

function slowFailure(instance: number, pid: number, unresponsiveMs: number): ProbeResult['failure'] {
  const { code } = new QueueError('PROCESS_SLOW');
  const seconds = (unresponsiveMs / 1_000).toFixed(1);
  return {
    code,
    message: `Process ${pid}, which hosts instance ${instance}, has made no turn of its event loop for ${seconds} s`,
  };
}
