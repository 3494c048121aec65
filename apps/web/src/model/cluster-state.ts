/** The cluster as its stream has told it so far, with the rates that follow from its counts. */
import type {
  Cluster,
  ClusterInstance,
  ClusterLoad,
  ClusterProcess,
  ClusterStreamEvent,
} from '@shardlab/contract';

export interface InstanceRates {
  enqueuePerSec: number;
  dequeuePerSec: number;
}

export interface FollowedCluster {
  atMs: number;
  /** When the figures were taken: a process that hangs makes them old. */
  figuresAtMs: number;
  cluster: Cluster;
  load: ClusterLoad | null;
  /** By instance; one that was opened a moment ago has none. */
  rates: ReadonlyMap<number, InstanceRates>;
  /** Cores kept busy, by process id. */
  cores: ReadonlyMap<number, number>;
}

const eventsKept = 200;

export function applyClusterEvent(
  before: FollowedCluster | null,
  event: ClusterStreamEvent,
): FollowedCluster {
  const { atMs, figuresAtMs } = event;
  const cluster = event.type === 'snapshot' ? event.cluster : grown(before, event);
  const load = event.type === 'snapshot' ? event.load : joined(before?.load ?? null, event.load);
  return { atMs, figuresAtMs, cluster, load, ...speeds(before, { figuresAtMs, ...cluster }) };
}

function grown(
  before: FollowedCluster | null,
  { placement, instances, processes, events }: Extract<ClusterStreamEvent, { type: 'tick' }>,
): Cluster {
  const all = [...(before?.cluster.events ?? []), ...events];
  return { placement, instances, processes, events: all.slice(-eventsKept) };
}

/** A tick has the samples since the one before. */
function joined(before: ClusterLoad | null, now: ClusterLoad | null): ClusterLoad | null {
  if (now === null || before?.startedAtMs !== now.startedAtMs) return now;
  return { ...now, samples: [...before.samples, ...now.samples] };
}

type Figures = { figuresAtMs: number } & Pick<Cluster, 'instances' | 'processes'>;

function speeds(before: FollowedCluster | null, now: Figures): Pick<FollowedCluster, 'rates' | 'cores'> {
  if (before === null) return { rates: new Map(), cores: new Map() };
  const ms = now.figuresAtMs - before.figuresAtMs;
  if (ms <= 0) return { rates: before.rates, cores: before.cores };
  return {
    rates: new Map(
      now.instances.flatMap((instance) => {
        const earlier = before.cluster.instances.find((each) => each.instance === instance.instance);
        const rates = ratesOf(earlier, instance, ms);
        return rates === null ? [] : [[instance.instance, rates]];
      }),
    ),
    cores: new Map(
      now.processes.map((process) => [process.pid, coresOf(before.cluster.processes, process, ms)]),
    ),
  };
}

/** Counts begin anew where an instance is opened: then there is nothing to compare with. */
function ratesOf(
  earlier: ClusterInstance | undefined,
  { figures }: ClusterInstance,
  ms: number,
): InstanceRates | null {
  const past = earlier?.figures;
  if (figures === null || past == null) return null;
  if (figures.enqueued < past.enqueued || figures.consumed < past.consumed) return null;
  return {
    enqueuePerSec: ((figures.enqueued - past.enqueued) * 1_000) / ms,
    dequeuePerSec: ((figures.consumed - past.consumed) * 1_000) / ms,
  };
}

function coresOf(earlier: readonly ClusterProcess[], process: ClusterProcess, ms: number): number {
  const past = earlier.find(({ pid }) => pid === process.pid);
  return past === undefined ? 0 : Math.max(0, (process.cpuMs - past.cpuMs) / ms);
}

export const backlogOf = ({ figures }: ClusterInstance): number =>
  figures?.shards.reduce((sum, { backlog }) => sum + backlog, 0) ?? 0;

/** A place for each instance: its own process, and what that hosts. */
export interface ProcessPlace {
  instance: ClusterInstance;
  /** What the process of this place hosts, its own instance first; without a process only an instance that is down. */
  hosted: ClusterInstance[];
  figures: ClusterProcess | null;
}

export function processPlaces({ instances, processes }: Cluster): ProcessPlace[] {
  const pids = new Set(instances.flatMap(({ process }) => process?.pid ?? []));
  const isHosted = ({ host, state }: ClusterInstance) =>
    host !== null && state !== 'down' && pids.has(host.pid);
  return instances.map((instance) => {
    const pid = instance.process?.pid;
    const hosted = instances.filter((each) =>
      isHosted(each) ? each.host?.pid === pid : each.instance === instance.instance,
    );
    const rank = (each: ClusterInstance) => (each.instance === instance.instance ? 0 : each.instance);
    hosted.sort((a, b) => rank(a) - rank(b));
    return { instance, hosted, figures: processes.find((process) => process.pid === pid) ?? null };
  });
}
