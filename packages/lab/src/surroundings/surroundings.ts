/**
 * Measurements beside every trial of a run, on the file system of its scratch folder: CPU of other processes while it runs, a
 * short sync probe before and after it, and, if the scenario requests them, probes of rates before and after it. The probe after a
 * trial is also the one before the next trial.
 */
import type { Disturbance, Scale } from '@shardlab/contract';
import { measureRaw, type RawJob } from '../raw/raw-limit.ts';
import { readCpuTicks, shareOfOthers } from './cpu-of-others.ts';
import { disturbanceOf } from './disturbance.ts';
import { probeSync } from './sync-probe.ts';

/** The properties of the raw loop that depend on the trial. */
export type RawShape = Pick<RawJob, 'cycle' | 'operationsPerTransaction' | 'pageBytes' | 'payloadBytes'>;

/** About 30 ms with a sync of 2 ms. */
const syncProbe = { samples: 15, budgetMs: 300 } as const;

/** Length of the probe of a rate, milliseconds. */
export const rateProbeMs: Readonly<Record<Scale, number>> = { full: 1_000, quick: 300 };

/** A rate that limits that of a trial, or is compared with it. */
export interface RateProbe {
  name: string;
  /** All that decides what it measures. */
  shape: unknown;
  perSec(): Promise<number>;
}

export interface SurroundingsOptions {
  /** The scratch folder of the run. */
  folder: string;
  /** Median sync at the start of the run, milliseconds. */
  startSyncMs: number;
  scale: Scale;
  signal?: AbortSignal;
}

export interface Surrounded<T> {
  result: T;
  disturbance: Disturbance;
  /** What the probes of rates measured, by name. */
  perSec: Readonly<Record<string, [before: number, after: number]>>;
}

export class Surroundings {
  readonly #options: SurroundingsOptions;
  #lastSyncMs: number | undefined;
  /** By name of the probe. */
  readonly #lastRates = new Map<string, { shape: string; perSec: number }>();

  constructor(options: SurroundingsOptions) {
    this.#options = options;
  }

  /** SQLite alone, as rows per second. */
  rawProbe(shape: RawShape): RateProbe {
    const { folder: dir, scale, signal } = this.#options;
    const job = { ...shape, dir, measureMs: rateProbeMs[scale] };
    return { name: 'raw', shape, perSec: async () => (await measureRaw(job, signal)).rowsPerSec };
  }

  /** Runs a trial between its probes. Rejects if the trial or a probe does. */
  async measure<T>(probes: readonly RateProbe[], trial: () => Promise<T>): Promise<Surrounded<T>> {
    const { startSyncMs } = this.#options;
    const ratesBefore: number[] = [];
    for (const probe of probes) ratesBefore.push(this.#lastRate(probe) ?? (await this.#probeRate(probe)));
    const before = this.#lastSyncMs ?? (await this.#probeSync());
    const cpuBefore = readCpuTicks();
    const result = await trial();
    const cpuAfter = readCpuTicks();
    const after = await this.#probeSync();
    const perSec: Record<string, [number, number]> = {};
    for (const [index, probe] of probes.entries())
      perSec[probe.name] = [ratesBefore[index]!, await this.#probeRate(probe)];
    const otherCpuShare = cpuBefore && cpuAfter ? shareOfOthers(cpuBefore, cpuAfter) : null;
    return {
      result,
      disturbance: disturbanceOf({ otherCpuShare, startSyncMs, syncMs: { before, after } }),
      perSec,
    };
  }

  async #probeSync(): Promise<number> {
    const times = await probeSync(this.#options.folder, syncProbe);
    this.#lastSyncMs = times[Math.floor(times.length / 2)]!;
    return this.#lastSyncMs;
  }

  #lastRate({ name, shape }: RateProbe): number | undefined {
    const last = this.#lastRates.get(name);
    return last?.shape === JSON.stringify(shape) ? last.perSec : undefined;
  }

  async #probeRate(probe: RateProbe): Promise<number> {
    const perSec = await probe.perSec();
    this.#lastRates.set(probe.name, { shape: JSON.stringify(probe.shape), perSec });
    return perSec;
  }
}
