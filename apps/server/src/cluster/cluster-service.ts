/**
 * The cluster behind the queue API. With one instance it lives in the server itself; from two on each has a process, and
 * stays so until the server starts again with one. How many there are is kept in the folder.
 */
import type {
  Cluster,
  ClusterInstance,
  ClusterProcess,
  InstanceFigures,
  WaitFigure,
} from '@shardlab/contract';
import { readMembers, type WaitStats, waitQuantileMs } from '@shardlab/engine';
import { ServerError } from '../errors.ts';
import type { Backend, HostedFigures, InstanceState, ProcessSignal, QueueHost } from './backend.ts';
import { InlineBackend } from './inline-backend.ts';
import { ProcessBackend } from './process-backend.ts';

export interface ClusterFigures {
  processes: ClusterProcess[];
  byInstance: ReadonlyMap<number, InstanceFigures>;
}

export class ClusterService {
  /** Folder of the engine's files. */
  readonly dir: string;
  #backend: Backend | undefined;
  #changing: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** Throws what opening an instance or starting a cluster throws. */
  static async open(dir: string): Promise<ClusterService> {
    const backend =
      readMembers(dir).length > 1 ? await ProcessBackend.open(dir) : await InlineBackend.open(dir);
    return new ClusterService(dir, backend);
  }

  private constructor(dir: string, backend: Backend) {
    this.dir = dir;
    this.#backend = backend;
  }

  /** Throws `TOPOLOGY_CHANGING` while the instance moves out of the server. */
  get queues(): QueueHost {
    return this.#current.queues;
  }

  get #current(): Backend {
    if (this.#backend === undefined) throw new ServerError('TOPOLOGY_CHANGING');
    return this.#backend;
  }

  topology(): InstanceState[] {
    return this.#backend?.topology() ?? [];
  }

  /** Figures of the instances that answer. */
  async hosted(): Promise<HostedFigures[]> {
    return (await this.#backend?.figures())?.hosted ?? [];
  }

  async describe(): Promise<Cluster> {
    return this.describeWith(await this.figures());
  }

  /** Of the processes that answer, and what they host. */
  async figures(): Promise<ClusterFigures> {
    const { processes, hosted } = await this.#current.figures();
    return { processes, byInstance: new Map(hosted.map((each) => [each.stats.instance, toWire(each)])) };
  }

  /** The cluster as it is now, with figures that may be older. */
  describeWith({ processes, byInstance }: ClusterFigures): Cluster {
    const backend = this.#current;
    const instances: ClusterInstance[] = backend
      .topology()
      .map((state) => ({ ...state, figures: byInstance.get(state.instance) ?? null }));
    return { placement: backend.placement, instances, processes, events: backend.events() };
  }

  /** Whether every instance is served at this moment. */
  get isWhole(): boolean {
    return this.topology().every(({ state }) => state !== 'down');
  }

  kill(instance: number, signal: ProcessSignal): void {
    this.#current.kill(instance, signal);
  }

  stop(instance: number): Promise<void> {
    return this.#current.stop(instance);
  }

  start(instance: number): Promise<void> {
    return this.#current.start(instance);
  }

  /** One change after the other. Throws what starting processes throws; then the cluster is as it was. */
  resize(instances: number): Promise<void> {
    const change = this.#changing.then(() => this.#resize(instances));
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async #resize(instances: number): Promise<void> {
    const before = this.#current;
    if (await before.resize(instances)) return;
    // Calls under way end with INSTANCE_CLOSED, new ones with TOPOLOGY_CHANGING: both may be made again.
    this.#backend = undefined;
    await before.close();
    try {
      this.#backend = await ProcessBackend.open(this.dir, instances);
    } catch (error) {
      this.#backend = await InlineBackend.open(this.dir);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#changing;
    await this.#backend?.close();
  }
}

function toWire({ stats, waits }: HostedFigures): InstanceFigures {
  const { instance: _number, epoch: _epoch, cpu, ...counts } = stats;
  return {
    ...counts,
    cpuMs: { session: cpu.sessionUs / 1000, writer: cpu.writerUs / 1000 },
    waits: waits.filter((wait) => wait.waits > 0).map(toFigure),
  };
}

function toFigure({ buckets, ...wait }: WaitStats): WaitFigure {
  return { ...wait, p99Ms: waitQuantileMs(buckets, 0.99) };
}
