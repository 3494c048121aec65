/**
 * The cluster as those see it who watch: everything at first, then at every tick how it stands and what is new. Nothing is
 * looked at while nobody watches. Who hosts what is read anew at every tick; figures are asked of the processes beside it,
 * so that a process that was stopped makes its figures old and holds up nothing else.
 */
import type { Cluster, ClusterEvent, ClusterStreamEvent, InstanceFigures } from '@shardlab/contract';
import { limits } from '../limits.ts';
import type { ClusterLoad } from '../load/cluster-load.ts';
import type { ClusterFigures, ClusterService } from './cluster-service.ts';

export interface ClusterWatchOptions {
  cluster: ClusterService;
  loads: { readonly load: ClusterLoad | null };
  now: () => number;
}

export interface Watcher {
  send(frame: string): void;
}

const noFigures: ClusterFigures = { processes: [], byInstance: new Map() };

export class ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #watchers = new Set<Watcher>();
  /** They get all of it at the next tick, and what is new at those behind. */
  readonly #newcomers = new Set<Watcher>();
  #ticking: NodeJS.Timeout | undefined;
  #figures = noFigures;
  #figuresAtMs = 0;
  #asking: Promise<void> | undefined;
  #lastEvent: ClusterEvent | undefined;
  #load: ClusterLoad | null = null;
  #samplesTold = 0;

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
  }

  /** Returns how to stop. */
  follow(watcher: Watcher): () => void {
    this.#newcomers.add(watcher);
    if (this.#ticking === undefined) {
      this.#ticking = setInterval(() => this.#tick(), limits.clusterTickMs);
      this.#ask().then(() => this.#tick());
    }
    return () => {
      this.#newcomers.delete(watcher);
      this.#watchers.delete(watcher);
      if (this.#newcomers.size + this.#watchers.size > 0) return;
      clearInterval(this.#ticking);
      this.#ticking = undefined;
    };
  }

  #tick(): void {
    void this.#ask();
    let cluster: Cluster;
    try {
      cluster = this.#options.cluster.describeWith(this.#figures);
    } catch {
      return; // the instance is moving out of the server
    }
    const { placement, instances, processes, events } = cluster;
    const moment = { atMs: this.#options.now(), figuresAtMs: this.#figuresAtMs };
    const { load } = this.#options.loads;
    if (load !== this.#load) this.#samplesTold = 0;
    const told = this.#samplesTold;
    if (this.#watchers.size > 0) {
      const frame = toFrame({
        type: 'tick',
        ...moment,
        placement,
        instances,
        processes,
        events: events.slice(events.lastIndexOf(this.#lastEvent!) + 1),
        load: load?.report(told) ?? null,
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
    this.#samplesTold = load?.sampleCount ?? 0;
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#options.cluster
      .figures()
      .then(
        (figures) => {
          this.#figures = trimmed(figures);
          this.#figuresAtMs = this.#options.now();
        },
        () => {
          this.#figures = noFigures;
        },
      )
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}

/** Without the partitions that nobody could look at. */
function trimmed({ processes, byInstance }: ClusterFigures): ClusterFigures {
  const trim = (figures: InstanceFigures): InstanceFigures => ({
    ...figures,
    shards: figures.shards.map((shard) => {
      return { ...shard, partitions: shard.partitions.slice(-limits.partitionsWatchedMax) };
    }),
  });
  return { processes, byInstance: new Map([...byInstance].map(([id, figures]) => [id, trim(figures)])) };
}

function toFrame(event: ClusterStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
