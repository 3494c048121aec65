/**
 * Measurements beside every trial of a run, on the file system of its scratch folder: CPU of other processes while it runs, a
 * short sync probe before and after it, and, if the scenario requests it, a raw probe before and after it. The probe after a
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

/** Length of a raw probe, milliseconds. */
const rawProbeMs: Readonly<Record<Scale, number>> = { full: 1_000, quick: 300 };

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
  /** Rows per second of the raw probes before and after; undefined if there were none. */
  rawPerSec: [before: number, after: number] | undefined;
}

export class Surroundings {
  readonly #options: SurroundingsOptions;
  #lastSyncMs: number | undefined;
  #lastRaw: { shape: string; rowsPerSec: number } | undefined;

  constructor(options: SurroundingsOptions) {
    this.#options = options;
  }

  /** Runs a trial between its probes; `shape` is null if no raw probe is wanted. Rejects if the trial or a probe does. */
  async measure<T>(shape: RawShape | null, trial: () => Promise<T>): Promise<Surrounded<T>> {
    const { startSyncMs } = this.#options;
    const rawBefore = shape === null ? undefined : await this.#rawBefore(shape);
    const before = this.#lastSyncMs ?? (await this.#probeSync());
    const cpuBefore = readCpuTicks();
    const result = await trial();
    const cpuAfter = readCpuTicks();
    const after = await this.#probeSync();
    const rawAfter = shape === null ? undefined : await this.#probeRaw(shape);
    const otherCpuShare = cpuBefore && cpuAfter ? shareOfOthers(cpuBefore, cpuAfter) : null;
    return {
      result,
      disturbance: disturbanceOf({ otherCpuShare, startSyncMs, syncMs: { before, after } }),
      rawPerSec: rawBefore === undefined || rawAfter === undefined ? undefined : [rawBefore, rawAfter],
    };
  }

  async #probeSync(): Promise<number> {
    const times = await probeSync(this.#options.folder, syncProbe);
    this.#lastSyncMs = times[Math.floor(times.length / 2)]!;
    return this.#lastSyncMs;
  }

  async #rawBefore(shape: RawShape): Promise<number> {
    const last = this.#lastRaw;
    return last?.shape === JSON.stringify(shape) ? last.rowsPerSec : this.#probeRaw(shape);
  }

  async #probeRaw(shape: RawShape): Promise<number> {
    const { folder: dir, scale, signal } = this.#options;
    const { rowsPerSec } = await measureRaw({ ...shape, dir, measureMs: rawProbeMs[scale] }, signal);
    this.#lastRaw = { shape: JSON.stringify(shape), rowsPerSec };
    return rowsPerSec;
  }
}
