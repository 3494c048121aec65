/**
 * The processes that serve the instances of a trial with remote sessions. The coordinator starts them, reads their CPU,
 * waits and shards a few times a second, and does to them what the scenario's faults say.
 */
import type { Happening, InstanceSample, Scenario } from '@shardlab/contract';
import { type Cluster, type ClusterEvent, startCluster, type WaitStats } from '@shardlab/engine';
import type { Clock } from './clock.ts';
import type { Timeline } from './protocol.ts';
import { mergeWaits, waitMsByClass, waitsBetween } from './wait-totals.ts';

type Fault = NonNullable<Scenario['faults']>[number];

export interface TrialClusterOptions {
  dir: string;
  instances: number;
  cacheBytesMax: number | null;
  sampleMs: number;
  clock: Clock;
  /** `agoMs` is 0: who is told knows when that is. */
  onHappening(happening: Happening): void;
}

/** A fault as it went, on the monotonic clock. */
export interface FaultRecord {
  fault: Fault;
  atMs: number;
  /** When another process, or after a start its own one, served the instance; null if none did. */
  movedAtMs: number | null;
}

/** What the process of an instance did in the measured window. */
export interface ProcessWindow {
  cpuUs: number;
  waits: WaitStats[];
}

/** Since the cluster started. */
interface Account {
  cpuUs: number;
  waits: WaitStats[];
  shards: InstanceSample['shards'];
}

const emptyAccount = (): Account => ({ cpuUs: 0, waits: [], shards: [] });

export class TrialCluster {
  readonly #cluster: Cluster;
  readonly #options: TrialClusterOptions;
  readonly #accounts = new Map<number, Account>();
  /** What was last read of a process, and of an instance in one epoch: both count from 0 again after a failover. */
  readonly #lastCpuUs = new Map<number, number>();
  readonly #lastWaits = new Map<string, WaitStats[]>();
  /** What the last tick of an instance told. */
  readonly #told = new Map<number, { atMs: number; cpuUs: number; waits: WaitStats[] }>();
  readonly #records: FaultRecord[] = [];
  readonly #failure = Promise.withResolvers<never>();
  #timers: NodeJS.Timeout[] = [];
  readonly #window = Promise.withResolvers<{ from: Map<number, Account>; to: Map<number, Account> }>();

  static async start(options: TrialClusterOptions): Promise<TrialCluster> {
    const { dir, instances, cacheBytesMax } = options;
    const cache = cacheBytesMax === null ? {} : { cacheBytesMax };
    let made: TrialCluster | undefined;
    const onEvent = (event: ClusterEvent) => made?.onEvent(event);
    const cluster = await startCluster({ dir, instances, ...cache, onEvent });
    made = new TrialCluster(cluster, options);
    return made;
  }

  private constructor(cluster: Cluster, options: TrialClusterOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#failure.promise.catch(() => {});
  }

  /** Process ids in the order of their instances. */
  get pids(): number[] {
    return this.#cluster.topology().flatMap(({ process }) => process?.pid ?? []);
  }

  /** Never resolves; rejects if a fault could not be done. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Sets the timers of the window and of the faults, and begins to look. */
  begin({ measureAtMs, stopAtMs }: Timeline, faults: readonly Fault[]): void {
    const { clock, sampleMs } = this.#options;
    const at = (atMs: number, act: () => void) =>
      this.#timers.push(setTimeout(act, Math.max(0, atMs - clock())));
    const snapshot = () => this.#look().then(() => new Map(this.#accounts));
    let from: Promise<Map<number, Account>> | undefined;
    at(measureAtMs, () => {
      from = snapshot();
    });
    at(stopAtMs, () => {
      const both = Promise.all([from ?? snapshot(), snapshot()]);
      both.then(([begin, end]) => this.#window.resolve({ from: begin, to: end }), this.#failure.reject);
    });
    for (const fault of faults) {
      at(measureAtMs + fault.atMs, () => {
        this.#inflict(fault).catch((error: unknown) => this.#failure.reject(error));
      });
    }
    this.#timers.push(setInterval(() => void this.#look(), sampleMs));
  }

  async #inflict(fault: Fault): Promise<void> {
    const { kind, instance } = fault;
    // What a process did since the last look goes with it.
    if (kind === 'kill' || kind === 'stop') await this.#look();
    this.#records.push({ fault, atMs: this.#options.clock(), movedAtMs: null });
    this.#options.onHappening({ what: kind, instance, agoMs: 0 });
    if (kind === 'kill') this.#cluster.kill(instance);
    else if (kind === 'pause') this.#cluster.pause(instance);
    else if (kind === 'stop') await this.#cluster.stop(instance);
    else await this.#cluster.start(instance);
  }

  onEvent(event: ClusterEvent): void {
    const { instance, atMs } = event;
    const { clock, onHappening } = this.#options;
    const at = clock() - Math.max(0, Date.now() - atMs);
    const ends = movedBy(event);
    if (ends === null) return;
    const record = this.#records.findLast(({ fault }) => fault.instance === instance);
    if (record === undefined || record.movedAtMs !== null) return;
    if ((record.fault.kind === 'start') !== (ends === 'given back')) return;
    record.movedAtMs = at;
    onHappening({ what: ends, instance, agoMs: 0 });
  }

  async #look(): Promise<void> {
    const stats = await this.#cluster.stats();
    for (const { instance, pid, cpuUs, hosted } of stats) {
      const account = this.#accountOf(instance);
      const before = this.#lastCpuUs.get(pid) ?? 0;
      this.#lastCpuUs.set(pid, cpuUs);
      this.#accounts.set(instance, { ...account, cpuUs: account.cpuUs + cpuUs - before });
      for (const { stats: of, waits } of hosted) {
        const key = `${of.instance}/${of.epoch}`;
        const since = waitsBetween(this.#lastWaits.get(key) ?? [], waits);
        this.#lastWaits.set(key, waits);
        const served = this.#accountOf(of.instance);
        this.#accounts.set(of.instance, {
          ...served,
          waits: mergeWaits([served.waits, since]),
          shards: of.shards.map(({ shard, backlog, partitions }) => ({ shard, backlog, partitions })),
        });
      }
    }
  }

  #accountOf(instance: number): Account {
    return this.#accounts.get(instance) ?? emptyAccount();
  }

  /** The sample of an instance's clients, with what its process did: its CPU, its waits beside theirs, its shards. */
  complete(sample: InstanceSample): InstanceSample {
    const { instance } = sample;
    const now = this.#options.clock();
    const { cpuUs, waits, shards } = this.#accountOf(instance);
    const told = this.#told.get(instance) ?? { atMs: now, cpuUs, waits };
    this.#told.set(instance, { atMs: now, cpuUs, waits });
    const elapsedUs = Math.max(1, now - told.atMs) * 1000;
    const byClass = waitMsByClass(waitsBetween(told.waits, waits));
    for (const [waitClass, ms] of Object.entries(sample.waitMsByClass))
      byClass[waitClass] = (byClass[waitClass] ?? 0) + ms;
    const cpu = Number(((cpuUs - told.cpuUs) / elapsedUs).toFixed(3));
    return { ...sample, cpu, waitMsByClass: byClass, shards };
  }

  /** Of each instance, once the measured phase is over. */
  async windows(): Promise<ProcessWindow[]> {
    const { from, to } = await this.#window.promise;
    return Array.from({ length: this.#options.instances }, (_, index) => {
      const [begin, end] = [from, to].map((accounts) => accounts.get(index + 1) ?? emptyAccount());
      return { cpuUs: end!.cpuUs - begin!.cpuUs, waits: waitsBetween(begin!.waits, end!.waits) };
    });
  }

  faults(): readonly FaultRecord[] {
    return this.#records;
  }

  /** Ends all processes; a trial that failed does not wait for what they are doing. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
    await this.#cluster.close();
  }
}

function movedBy({ type, role }: ClusterEvent): 'taken over' | 'given back' | null {
  if (type === 'instance:taken-over') return 'taken over';
  return type === 'lease:taken' && role === 'home' ? 'given back' : null;
}
