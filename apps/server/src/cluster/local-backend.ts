/** One instance in the server's own process: requests call the queue directly. */
import type { ClusterProcess } from '@shardlab/contract';
import { type Instance, openInstance } from '@shardlab/engine';
import { ServerError } from '../errors.ts';
import {
  type Backend,
  type BackendOptions,
  failureOf,
  type HostedMetrics,
  type InstanceQueues,
  type InstanceState,
  localStore,
  type OnUnrecoverable,
  type ProbeResult,
} from './backend.ts';
import { watchInstance } from './watch-instance.ts';

const instanceId = 1;

export class LocalBackend implements Backend {
  readonly placement = 'local';
  readonly store = localStore;
  readonly queues: Instance;

  readonly #endWatch: () => void;

  /** Throws what `openInstance` throws. */
  static async open(dir: string, { services, onUnrecoverable }: BackendOptions): Promise<LocalBackend> {
    return new LocalBackend(await openInstance({ dir, instance: instanceId, services }), onUnrecoverable);
  }

  private constructor(instance: Instance, onUnrecoverable: OnUnrecoverable) {
    this.queues = instance;
    this.#endWatch = watchInstance(instance, onUnrecoverable);
  }

  topology(): InstanceState[] {
    const { pid } = process;
    const stats = this.#stats();
    return [
      {
        instance: instanceId,
        state: stats === undefined ? 'down' : 'up',
        leaving: false,
        process: { pid, state: 'running' },
        restart: null,
        host: { pid, instance: instanceId, unresponsiveMs: null },
        epoch: stats?.epoch ?? 0,
        lease: null, // its claim lasts as long as this process
      },
    ];
  }

  async metrics(): Promise<{ processes: ClusterProcess[]; hosted: HostedMetrics[] }> {
    const { user, system } = process.cpuUsage();
    const serverProcess = {
      instance: instanceId,
      pid: process.pid,
      cpuMs: (user + system) / 1000,
      rssBytes: process.memoryUsage.rss(),
    };
    const stats = this.#stats();
    const waits = this.queues.waits.snapshot();
    return { processes: [serverProcess], hosted: stats === undefined ? [] : [{ stats, waits }] };
  }

  /** Undefined once the instance has failed. */
  #stats() {
    try {
      return this.queues.stats();
    } catch {
      return undefined;
    }
  }

  async queuesByInstance(): Promise<InstanceQueues[]> {
    return [{ instance: instanceId, queues: this.queues.queues() }];
  }

  async probe(): Promise<ProbeResult[]> {
    try {
      await this.queues.probe();
      return [{ instance: instanceId, failure: null }];
    } catch (error) {
      return [{ instance: instanceId, failure: failureOf(error) }];
    }
  }

  restarts(): ReadonlyMap<number, number> {
    return new Map();
  }

  events() {
    return [];
  }

  kill(): void {
    throw new ServerError('INSTANCE_IN_SERVER');
  }

  async stop(): Promise<void> {
    throw new ServerError('INSTANCE_IN_SERVER');
  }

  async start(): Promise<void> {
    throw new ServerError('INSTANCE_IN_SERVER');
  }

  async resize(instances: number): Promise<boolean> {
    return instances === 1;
  }

  close(): Promise<void> {
    this.#endWatch();
    return this.queues.close();
  }
}
