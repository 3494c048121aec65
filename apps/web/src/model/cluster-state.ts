/** The cluster as far as its event stream has reported it, with rates computed from its counters. */
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
  /** When the counters were read. It falls behind `atMs` while a process does not respond. */
  metricsAtMs: number;
  cluster: Cluster;
  load: ClusterLoad | null;
  /** Rates by instance. An instance has none before its second reading. */
  rates: ReadonlyMap<number, InstanceRates>;
  /** Number of cores kept busy, by process id. */
  cores: ReadonlyMap<number, number>;
}

const eventsMax = 200;

export function applyClusterEvent(
  before: FollowedCluster | null,
  event: ClusterStreamEvent,
): FollowedCluster {
  const { atMs, metricsAtMs } = event;
  const cluster = event.type === 'snapshot' ? event.cluster : withTick(before, event);
  const load = event.type === 'snapshot' ? event.load : withSamples(before?.load ?? null, event.load);
  return { atMs, metricsAtMs, cluster, load, ...ratesAndCores(before, { metricsAtMs, ...cluster }) };
}

function withTick(
  before: FollowedCluster | null,
  { placement, instances, processes, events }: Extract<ClusterStreamEvent, { type: 'tick' }>,
): Cluster {
  const allEvents = [...(before?.cluster.events ?? []), ...events];
  return { placement, instances, processes, events: allEvents.slice(-eventsMax) };
}

/** A tick carries only the samples since the previous tick. */
function withSamples(before: ClusterLoad | null, now: ClusterLoad | null): ClusterLoad | null {
  if (now === null || before?.startedAtMs !== now.startedAtMs) return now;
  return { ...now, samples: [...before.samples, ...now.samples] };
}

type CounterReading = { metricsAtMs: number } & Pick<Cluster, 'instances' | 'processes'>;

function ratesAndCores(
  before: FollowedCluster | null,
  now: CounterReading,
): Pick<FollowedCluster, 'rates' | 'cores'> {
  if (before === null) return { rates: new Map(), cores: new Map() };
  const ms = now.metricsAtMs - before.metricsAtMs;
  if (ms <= 0) return { rates: before.rates, cores: before.cores };
  return {
    rates: new Map(
      now.instances.flatMap((instance) => {
        const earlier = before.cluster.instances.find(
          (candidate) => candidate.instance === instance.instance,
        );
        const rates = ratesOf(earlier, instance, ms);
        return rates === null ? [] : [[instance.instance, rates]];
      }),
    ),
    cores: new Map(
      now.processes.map((process) => [process.pid, coresOf(before.cluster.processes, process, ms)]),
    ),
  };
}

/** Null if the counters went down: an instance that is opened again counts from zero. */
function ratesOf(
  earlier: ClusterInstance | undefined,
  { metrics }: ClusterInstance,
  ms: number,
): InstanceRates | null {
  const past = earlier?.metrics;
  if (metrics === null || past == null) return null;
  if (metrics.enqueued < past.enqueued || metrics.consumed < past.consumed) return null;
  return {
    enqueuePerSec: ((metrics.enqueued - past.enqueued) * 1_000) / ms,
    dequeuePerSec: ((metrics.consumed - past.consumed) * 1_000) / ms,
  };
}

function coresOf(earlier: readonly ClusterProcess[], process: ClusterProcess, ms: number): number {
  const past = earlier.find(({ pid }) => pid === process.pid);
  return past === undefined ? 0 : Math.max(0, (process.cpuMs - past.cpuMs) / ms);
}

export const backlogOf = ({ metrics }: ClusterInstance): number =>
  metrics?.shards.reduce((sum, { backlog }) => sum + backlog, 0) ?? 0;

/** The process that belongs to one instance, and all instances that it hosts. */
export interface InstanceProcess {
  owner: ClusterInstance;
  /** Its own instance first, then those it took over. Without a process: its own instance, if no process hosts it. */
  hosted: ClusterInstance[];
  usage: ClusterProcess | null;
}

export function instanceProcesses({ instances, processes }: Cluster): InstanceProcess[] {
  const pids = new Set(instances.flatMap(({ process }) => process?.pid ?? []));
  const isHosted = ({ host, state }: ClusterInstance) =>
    host !== null && state !== 'down' && pids.has(host.pid);
  return instances.map((owner) => {
    const pid = owner.process?.pid;
    const hosted = instances.filter((candidate) =>
      isHosted(candidate) ? candidate.host?.pid === pid : candidate.instance === owner.instance,
    );
    const rank = ({ instance }: ClusterInstance) => (instance === owner.instance ? 0 : instance);
    hosted.sort((a, b) => rank(a) - rank(b));
    return { owner, hosted, usage: processes.find((process) => process.pid === pid) ?? null };
  });
}
