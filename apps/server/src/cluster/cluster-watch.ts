/**
 * The event stream of the cluster: a new watcher gets a snapshot, then at every tick the present state and new events.
 * Without watchers nothing is read. The topology is read at every tick; metrics are requested from the processes
 * concurrently, so that a suspended process delays only its own metrics.
 */
import type {
  Cluster,
  ClusterEvent,
  ClusterLoad,
  ClusterStreamEvent,
  InstanceMetrics,
} from '@shardlab/contract';
import { limits } from '../limits.ts';
import type { ClusterMetrics, ClusterService } from './cluster-service.ts';

/** A load on the cluster, which is reported beside it. */
interface WatchedLoad {
  /** Its state, with its samples from `firstSample` on; default: all of them. */
  report(firstSample?: number): ClusterLoad;
  readonly sampleCount: number;
}

export interface ClusterWatchOptions {
  cluster: ClusterService;
  loads: { readonly load: WatchedLoad | null };
  now: () => number;
}

export interface Watcher {
  send(frame: string): void;
}

const noMetrics: ClusterMetrics = { processes: [], byInstance: new Map() };

export class ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #watchers = new Set<Watcher>();
  /** Watchers that get a snapshot at the next tick, and ticks from then on. */
  readonly #newcomers = new Set<Watcher>();
  #ticking: NodeJS.Timeout | undefined;
  #metrics = noMetrics;
  #metricsAtMs = 0;
  #metricsRequest: Promise<void> | undefined;
  #probing: Promise<unknown> | undefined;
  #lastEvent: ClusterEvent | undefined;
  #load: WatchedLoad | null = null;
  #samplesSent = 0;

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
  }

  /** Returns a function that stops watching. */
  follow(watcher: Watcher): () => void {
    this.#newcomers.add(watcher);
    if (this.#ticking === undefined) {
      this.#ticking = setInterval(() => this.#tick(), limits.clusterTickMs);
      this.#requestMetrics().then(() => this.#tick());
    }
    return () => {
      this.#newcomers.delete(watcher);
      this.#watchers.delete(watcher);
      if (this.#newcomers.size + this.#watchers.size > 0) return;
      clearInterval(this.#ticking);
      this.#ticking = undefined;
    };
  }

  /** Not with the metrics: an instance that cannot commit would delay them. */
  #probe(): void {
    this.#probing ??= this.#options.cluster
      .probe()
      .catch(() => undefined) // the folder cannot be read now
      .finally(() => {
        this.#probing = undefined;
      });
  }

  #tick(): void {
    void this.#requestMetrics();
    this.#probe();
    let cluster: Cluster;
    try {
      cluster = this.#options.cluster.describeWith(this.#metrics);
    } catch {
      return; // the instance is being moved out of the server
    }
    const { placement, instances, processes, events } = cluster;
    const moment = { atMs: this.#options.now(), metricsAtMs: this.#metricsAtMs };
    const { load } = this.#options.loads;
    if (load !== this.#load) this.#samplesSent = 0;
    const samplesSent = this.#samplesSent;
    if (this.#watchers.size > 0) {
      const frame = toFrame({
        type: 'tick',
        ...moment,
        placement,
        instances,
        processes,
        events: events.slice(events.lastIndexOf(this.#lastEvent!) + 1),
        load: load?.report(samplesSent) ?? null,
      });
      for (const watcher of this.#watchers) watcher.send(frame);
    }
    if (this.#newcomers.size > 0) {
      const frame = toFrame({ type: 'snapshot', ...moment, cluster, load: load?.report() ?? null });
      for (const watcher of this.#newcomers) {
        watcher.send(frame);
        this.#watchers.add(watcher);
      }
      this.#newcomers.clear();
    }
    this.#lastEvent = events.at(-1);
    this.#load = load;
    this.#samplesSent = load?.sampleCount ?? 0;
  }

  #requestMetrics(): Promise<void> {
    this.#metricsRequest ??= this.#options.cluster
      .metrics()
      .then(
        (metrics) => {
          this.#metrics = trimMetrics(metrics);
          this.#metricsAtMs = this.#options.now();
        },
        () => {
          this.#metrics = noMetrics;
        },
      )
      .finally(() => {
        this.#metricsRequest = undefined;
      });
    return this.#metricsRequest;
  }
}

/** Drops all but the newest partitions of each shard, which are all that a page can show. */
function trimMetrics({ processes, byInstance }: ClusterMetrics): ClusterMetrics {
  const trim = (metrics: InstanceMetrics): InstanceMetrics => ({
    ...metrics,
    shards: metrics.shards.map((shard) => {
      return { ...shard, partitions: shard.partitions.slice(-limits.partitionsWatchedMax) };
    }),
  });
  return { processes, byInstance: new Map([...byInstance].map(([id, metrics]) => [id, trim(metrics)])) };
}

function toFrame(event: ClusterStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
