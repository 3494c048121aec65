/**
 * The processes that serve the instances of a trial with remote sessions. The coordinator starts them, reads their CPU
 * time, waits and shards several times per second, and injects the scenario's faults.
 */
import type { InstanceSample, Scenario, TickEvent } from '@shardlab/contract';
import { type Cluster, type ClusterEvent, startCluster, type WaitStats } from '@shardlab/engine';
import type { Clock } from '../../../meters/clock.ts';
import { addCounts, type Counts, countsBetween } from '../../../meters/counts.ts';
import { mergeWaits, waitMsByClass, waitsBetween } from '../../../meters/wait-totals.ts';
import type { TrialOptions } from '../../../trial/trial.ts';
import { queueParamsOf } from '../points/queue-params.ts';
import type { Timeline } from './protocol.ts';
import { cacheBytesMax, tickMsOf } from './worker-config.ts';

type Fault = NonNullable<Scenario['faults']>[number];

export interface TrialClusterOptions {
  dir: string;
  instances: number;
  cacheBytesMax: number | null;
  sampleMs: number;
  clock: Clock;
  /** `agoMs` is 0; the receiver fills it in. */
  onTickEvent(happening: TickEvent): void;
}

/** A fault and its effect; times on the monotonic clock. */
export interface FaultRecord {
  fault: Fault;
  atMs: number;
  /** When another process served the instance, or its own one after a start; null if that did not happen. */
  movedAtMs: number | null;
}

/** Resources that the process of an instance used in the measured window. */
export interface ProcessWindow {
  cpuUs: number;
  syncs: number;
  waits: WaitStats[];
  counters: Counts;
}

/** Totals since the cluster started. */
interface InstanceUsage {
  cpuUs: number;
  syncs: number;
  waits: WaitStats[];
  counters: Counts;
  shards: InstanceSample['shards'];
}

const noUsage = (): InstanceUsage => ({ cpuUs: 0, syncs: 0, waits: [], counters: {}, shards: [] });

export class TrialCluster {
  readonly #cluster: Cluster;
  readonly #options: TrialClusterOptions;
  readonly #usage = new Map<number, InstanceUsage>();
  /** The last reading of each process, and of each instance and epoch; both restart at 0 after a failover. */
  readonly #lastCpuUs = new Map<number, number>();
  readonly #lastWaits = new Map<string, WaitStats[]>();
  readonly #lastSyncs = new Map<string, number>();
  readonly #lastCounters = new Map<string, Counts>();
  /** The reading at the last tick of each instance. */
  readonly #reported = new Map<number, { atMs: number; cpuUs: number; waits: WaitStats[] }>();
  readonly #records: FaultRecord[] = [];
  readonly #failure = Promise.withResolvers<never>();
  #timers: NodeJS.Timeout[] = [];
  readonly #window = Promise.withResolvers<{
    from: Map<number, InstanceUsage>;
    to: Map<number, InstanceUsage>;
  }>();

  static async start(options: TrialClusterOptions): Promise<TrialCluster> {
    const { dir, instances, cacheBytesMax } = options;
    const cache = cacheBytesMax === null ? {} : { cacheBytesMax };
    let made: TrialCluster | undefined;
    const onEvent = (event: ClusterEvent) => made?.onEvent(event);
    // Which processes run is for the scenario's faults alone to decide.
    const cluster = await startCluster({ dir, instances, ...cache, restart: false, onEvent });
    made = new TrialCluster(cluster, options);
    return made;
  }

  private constructor(cluster: Cluster, options: TrialClusterOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#failure.promise.catch(() => {});
  }

  /** Process ids in the order of the instances. */
  get pids(): number[] {
    return this.#cluster.topology().flatMap(({ process }) => process?.pid ?? []);
  }

  /** Never resolves; rejects if a fault could not be injected. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Sets the timers of the window and the faults, and starts sampling. */
  begin({ measureAtMs, stopAtMs }: Timeline, faults: readonly Fault[]): void {
    const { clock, sampleMs } = this.#options;
    const at = (atMs: number, act: () => void) =>
      this.#timers.push(setTimeout(act, Math.max(0, atMs - clock())));
    const snapshot = () => this.#sampleUsage().then(() => new Map(this.#usage));
    let from: Promise<Map<number, InstanceUsage>> | undefined;
    at(measureAtMs, () => {
      from = snapshot();
    });
    at(stopAtMs, () => {
      const both = Promise.all([from ?? snapshot(), snapshot()]);
      both.then(([begin, end]) => this.#window.resolve({ from: begin, to: end }), this.#failure.reject);
    });
    for (const fault of faults) {
      at(measureAtMs + fault.atMs, () => {
        this.#inject(fault).catch((error: unknown) => this.#failure.reject(error));
      });
    }
    this.#timers.push(setInterval(() => void this.#sampleUsage(), sampleMs));
  }

  async #inject(fault: Fault): Promise<void> {
    const { kind, instance } = fault;
    // Usage since the last sample would be lost with the process.
    if (kind === 'kill' || kind === 'stop') await this.#sampleUsage();
    this.#records.push({ fault, atMs: this.#options.clock(), movedAtMs: null });
    this.#options.onTickEvent({ type: kind, instance, agoMs: 0 });
    if (kind === 'kill') this.#cluster.kill(instance);
    else if (kind === 'pause') this.#cluster.pause(instance);
    else if (kind === 'stop') await this.#cluster.stop(instance);
    else await this.#cluster.start(instance);
  }

  onEvent(event: ClusterEvent): void {
    const { instance, atMs } = event;
    const { clock, onTickEvent } = this.#options;
    const at = clock() - Math.max(0, Date.now() - atMs);
    const ends = movedBy(event);
    if (ends === null) return;
    const record = this.#records.findLast(({ fault }) => fault.instance === instance);
    if (record === undefined || record.movedAtMs !== null) return;
    if ((record.fault.kind === 'start') !== (ends === 'returned')) return;
    record.movedAtMs = at;
    onTickEvent({ type: ends, instance, agoMs: 0 });
  }

  async #sampleUsage(): Promise<void> {
    const stats = await this.#cluster.stats();
    for (const { instance, pid, cpuUs, hosted } of stats) {
      const account = this.#usageOf(instance);
      const before = this.#lastCpuUs.get(pid) ?? 0;
      this.#lastCpuUs.set(pid, cpuUs);
      this.#usage.set(instance, { ...account, cpuUs: account.cpuUs + cpuUs - before });
      for (const { stats: of, waits } of hosted) {
        const key = `${of.instance}/${of.epoch}`;
        const since = waitsBetween(this.#lastWaits.get(key) ?? [], waits);
        this.#lastWaits.set(key, waits);
        const syncs = of.syncs - (this.#lastSyncs.get(key) ?? 0);
        this.#lastSyncs.set(key, of.syncs);
        const counted = countsBetween(this.#lastCounters.get(key) ?? {}, of.counters);
        this.#lastCounters.set(key, of.counters);
        const served = this.#usageOf(of.instance);
        this.#usage.set(of.instance, {
          ...served,
          syncs: served.syncs + syncs,
          waits: mergeWaits([served.waits, since]),
          counters: addCounts([served.counters, counted]),
          shards: of.shards.map(({ shard, backlog, partitions }) => ({ shard, backlog, partitions })),
        });
      }
    }
  }

  #usageOf(instance: number): InstanceUsage {
    return this.#usage.get(instance) ?? noUsage();
  }

  /** Adds the CPU time, waits and shards of the serving process to the sample of an instance's clients. */
  complete(sample: InstanceSample): InstanceSample {
    const { instance } = sample;
    const now = this.#options.clock();
    const { cpuUs, waits, shards } = this.#usageOf(instance);
    const told = this.#reported.get(instance) ?? { atMs: now, cpuUs, waits };
    this.#reported.set(instance, { atMs: now, cpuUs, waits });
    const elapsedUs = Math.max(1, now - told.atMs) * 1000;
    const byClass = waitMsByClass(waitsBetween(told.waits, waits));
    for (const [waitClass, ms] of Object.entries(sample.waitMsByClass))
      byClass[waitClass] = (byClass[waitClass] ?? 0) + ms;
    const cpu = Number(((cpuUs - told.cpuUs) / elapsedUs).toFixed(3));
    return { ...sample, cpu, waitMsByClass: byClass, shards };
  }

  /** Kills all processes at once with SIGKILL; resolves when they have ended. */
  async killAll(): Promise<void> {
    for (const { instance } of this.#cluster.topology()) this.#cluster.kill(instance);
    await this.close();
  }

  /** Usage per instance, once the measured phase has ended. */
  async windows(): Promise<ProcessWindow[]> {
    const { from, to } = await this.#window.promise;
    return Array.from({ length: this.#options.instances }, (_, index) => {
      const [begin, end] = [from, to].map((accounts) => accounts.get(index + 1) ?? noUsage());
      return {
        cpuUs: end!.cpuUs - begin!.cpuUs,
        syncs: end!.syncs - begin!.syncs,
        waits: waitsBetween(begin!.waits, end!.waits),
        counters: countsBetween(begin!.counters, end!.counters),
      };
    });
  }

  faults(): readonly FaultRecord[] {
    return this.#records;
  }

  /** Ends all processes; after a failed trial without waiting for their work. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
    await this.#cluster.close();
  }
}

/** The cluster of a trial with remote sessions; null if sessions are embedded. */
export async function startRemote(
  { trial, scenario, dir }: Pick<TrialOptions, 'trial' | 'scenario' | 'dir'>,
  clock: Clock,
  onTickEvent: TrialClusterOptions['onTickEvent'] = () => {},
): Promise<TrialCluster | null> {
  const { sessions, instances } = queueParamsOf(trial.params);
  if (sessions !== 'remote') return null;
  return TrialCluster.start({
    dir,
    instances,
    cacheBytesMax: cacheBytesMax(trial),
    sampleMs: tickMsOf(scenario),
    clock,
    onTickEvent,
  });
}

function movedBy({ type, role }: ClusterEvent): 'taken over' | 'returned' | null {
  if (type === 'instance:taken-over' || type === 'instance:moved') return 'taken over';
  return type === 'lease:acquired' && role === 'owner' ? 'returned' : null;
}
