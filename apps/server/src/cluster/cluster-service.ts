/**
 * The cluster behind the queue API. A single instance runs inside the server. Two or more run in processes of their own,
 * and stay there until the server restarts with one. The folder records how many instances there are. Or the queues are
 * on other servers, and there is no instance.
 */
import type {
  Cluster,
  ClusterEvent,
  ClusterInstance,
  ClusterProcess,
  DamageFinding,
  InstanceMetrics,
  WaitSummary,
} from '@shardlab/contract';
import { QueueError, readMembers, type ServiceSpec, type WaitStats, waitQuantileMs } from '@shardlab/engine';
import { ServerError } from '../errors.ts';
import { createPathHider, type HidePaths } from '../http/private-paths.ts';
import { limits } from '../limits.ts';
import type {
  Backend,
  BackendOptions,
  HostedMetrics,
  InstanceQueues,
  InstanceState,
  ProbeResult,
  ProcessSignal,
  QueueHost,
} from './backend.ts';
import { LocalBackend } from './local-backend.ts';
import { ProcessBackend } from './process-backend.ts';
import { StoreBackend } from './store-backend.ts';

export interface ClusterMetrics {
  processes: ClusterProcess[];
  byInstance: ReadonlyMap<number, InstanceMetrics>;
}

export class ClusterService {
  /** Folder of the engine's files. */
  readonly dir: string;
  /** Hides paths in answers that mention these files. */
  readonly hidePaths: HidePaths;
  readonly #shownEvents = new WeakMap<ClusterEvent, ClusterEvent>();
  #backend: Backend | undefined;
  #changing: Promise<unknown> = Promise.resolve();
  #closed = false;
  readonly #options: BackendOptions;
  #probed: { atMs: number; results: readonly ProbeResult[] } = { atMs: 0, results: [] };

  /**
   * `onUnrecoverable` is called if the server must be restarted before it can serve the queues again. Throws the errors of
   * opening an instance or starting a cluster.
   */
  static async open(dir: string, options: BackendOptions): Promise<ClusterService> {
    return new ClusterService(dir, await openBackend(dir, options), options);
  }

  private constructor(dir: string, backend: Backend, options: BackendOptions) {
    this.dir = dir;
    this.hidePaths = createPathHider(dir);
    this.#backend = backend;
    this.#options = options;
  }

  /** Throws `TOPOLOGY_CHANGING` while the instance is being moved out of the server. */
  get queues(): QueueHost {
    return this.#current.queues;
  }

  /** The store of the queues, and its capabilities. */
  get store(): Backend['store'] {
    return this.#current.store;
  }

  get #current(): Backend {
    if (this.#backend === undefined) throw new ServerError('TOPOLOGY_CHANGING');
    return this.#backend;
  }

  /** Whether instances have processes of their own. */
  get hasProcesses(): boolean {
    return this.#backend?.placement === 'processes';
  }

  /**
   * The instances whose own process runs; with `responsive` without those whose process is slow. None where the only instance is in the
   * server, or there is no instance.
   */
  processes({ responsive = false } = {}): number[] {
    if (!this.hasProcesses) return [];
    return this.topology().flatMap(({ instance, process, host }) => {
      const isSlow = host !== null && host.unresponsiveMs !== null;
      return process?.state === 'running' && !(responsive && isSlow) ? [instance] : [];
    });
  }

  /** The singleton services that the server is configured with. */
  get services(): readonly ServiceSpec[] {
    return this.#options.services;
  }

  topology(): InstanceState[] {
    return this.#backend?.topology() ?? [];
  }

  /** Metrics of the instances that respond. */
  async hosted(): Promise<HostedMetrics[]> {
    return (await this.#backend?.metrics())?.hosted ?? [];
  }

  /** The counts of the queues, of the instances that respond. */
  async queuesByInstance(): Promise<InstanceQueues[]> {
    return (await this.#backend?.queuesByInstance()) ?? [];
  }

  async describe(): Promise<Cluster> {
    return this.describeWith(await this.metrics());
  }

  /** The same object each time, by which the event stream knows the events that it has sent. */
  #shownEvent(event: ClusterEvent): ClusterEvent {
    const known = this.#shownEvents.get(event);
    if (known !== undefined) return known;
    const shown = this.hidePaths(event);
    this.#shownEvents.set(event, shown);
    return shown;
  }

  /** Metrics of the processes that respond, and of the instances they host. */
  async metrics(): Promise<ClusterMetrics> {
    const { processes, hosted } = await this.#current.metrics();
    return {
      processes,
      byInstance: new Map(hosted.map((metrics) => [metrics.stats.instance, this.#toWire(metrics)])),
    };
  }

  #toWire({ stats, waits }: HostedMetrics): InstanceMetrics {
    const { instance: _number, epoch: _epoch, cpu, scrub, ...counts } = stats;
    return {
      ...counts,
      cpuMs: { session: cpu.sessionUs / 1000, writer: cpu.writerUs / 1000 },
      waits: waits.filter((wait) => wait.waits > 0).map(toWaitSummary),
      scrub: this.hidePaths(scrub),
    };
  }

  /** The present state of the cluster, with metrics that may be older. */
  describeWith({ processes, byInstance }: ClusterMetrics): Cluster {
    const backend = this.#current;
    const instances: ClusterInstance[] = backend.topology().map((state) => ({
      ...state,
      unready: this.#lastFailureOf(state.instance),
      metrics: byInstance.get(state.instance) ?? null,
    }));
    return {
      placement: backend.placement,
      instances,
      processes,
      events: backend.events().map((event) => this.#shownEvent(event)),
    };
  }

  /** Has every instance commit a probe. One result for each; none while the instance is moved out of the server. */
  async probe(): Promise<readonly ProbeResult[]> {
    const results = (await this.#backend?.probe()) ?? [];
    this.#probed = { atMs: performance.now(), results };
    return results;
  }

  /** Findings of the last scrub, by instance, for instances that respond. */
  async damage(): Promise<ReadonlyMap<number, DamageFinding[]>> {
    const hosted = await this.hosted();
    return new Map(
      hosted.map(({ stats: { instance, scrub } }) => [instance, this.hidePaths(scrub.findings)]),
    );
  }

  #lastFailureOf(instance: number): ProbeResult['failure'] {
    const { atMs, results } = this.#probed;
    if (performance.now() - atMs > limits.probeKeptMs) return null;
    return results.find((result) => result.instance === instance)?.failure ?? null;
  }

  /** How often the process of an instance was started again since the server started. */
  restarts(): ReadonlyMap<number, number> {
    return this.#backend?.restarts() ?? new Map();
  }

  /** Whether every instance is being served. */
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

  /** Changes are made one at a time. If starting processes throws, the cluster is left unchanged. */
  resize(instances: number): Promise<void> {
    const change = this.#changing.then(() => this.#resize(instances));
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async #resize(instances: number): Promise<void> {
    const previous = this.#current;
    if (await previous.resize(instances)) return;
    // Calls in progress end with INSTANCE_CLOSED, new ones with TOPOLOGY_CHANGING; both can be retried.
    this.#backend = undefined;
    await previous.close().catch(() => undefined); // what it could not write, the next opening recovers
    try {
      this.#backend = await ProcessBackend.open(this.dir, this.#options, instances);
    } catch (error) {
      await this.#reopenInServer();
      throw error;
    }
  }

  /** If that fails too, only a restart of the server can bring the queues back: it is called for. */
  async #reopenInServer(): Promise<void> {
    try {
      this.#backend = await LocalBackend.open(this.dir, this.#options);
    } catch (cause) {
      const error = cause instanceof QueueError ? cause : new QueueError('INSTANCE_FAILED', { cause });
      this.#options.onUnrecoverable(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#changing;
    await this.#backend?.close();
  }
}

async function openBackend(dir: string, options: BackendOptions): Promise<Backend> {
  if (options.nats !== null) return StoreBackend.open(options.nats);
  if (readMembers(dir).length > 1) return ProcessBackend.open(dir, options);
  return LocalBackend.open(dir, options);
}

function toWaitSummary({ buckets, ...wait }: WaitStats): WaitSummary {
  return { ...wait, p99Ms: waitQuantileMs(buckets, 0.99) };
}
