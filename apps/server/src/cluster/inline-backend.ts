/** One instance in the server's own process: nothing between a request and the queue. */
import type { ClusterProcess } from '@shardlab/contract';
import { type Instance, openInstance } from '@shardlab/engine';
import { ServerError } from '../errors.ts';
import type { Backend, HostedFigures, InstanceState } from './backend.ts';

const number = 1;

export class InlineBackend implements Backend {
  readonly placement = 'inline';
  readonly queues: Instance;

  /** Throws what `openInstance` throws. */
  static async open(dir: string): Promise<InlineBackend> {
    return new InlineBackend(await openInstance({ dir, instance: number }));
  }

  private constructor(instance: Instance) {
    this.queues = instance;
  }

  topology(): InstanceState[] {
    const { pid } = process;
    const stats = this.#stats();
    return [
      {
        instance: number,
        state: stats === undefined ? 'down' : 'up',
        leaving: false,
        process: { pid, state: 'running' },
        host: { pid, instance: number },
        epoch: stats?.epoch ?? 0,
        lease: null, // its claim ends with this process
      },
    ];
  }

  async figures(): Promise<{ processes: ClusterProcess[]; hosted: HostedFigures[] }> {
    const { user, system } = process.cpuUsage();
    const own = {
      instance: number,
      pid: process.pid,
      cpuMs: (user + system) / 1000,
      rssBytes: process.memoryUsage.rss(),
    };
    const stats = this.#stats();
    const waits = this.queues.waits.snapshot();
    return { processes: [own], hosted: stats === undefined ? [] : [{ stats, waits }] };
  }

  /** Undefined once the instance has failed. */
  #stats() {
    try {
      return this.queues.stats();
    } catch {
      return undefined;
    }
  }

  events() {
    return [];
  }

  kill(): void {
    throw new ServerError('INSTANCE_INLINE');
  }

  async stop(): Promise<void> {
    throw new ServerError('INSTANCE_INLINE');
  }

  async start(): Promise<void> {
    throw new ServerError('INSTANCE_INLINE');
  }

  async resize(instances: number): Promise<boolean> {
    return instances === 1;
  }

  close(): Promise<void> {
    return this.queues.close();
  }
}
