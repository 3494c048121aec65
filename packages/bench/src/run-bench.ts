/** All trials of a bench: each in a fresh process, rounds interleaved so that a noisy minute hits all alike. */
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Integrity, Point } from '@shardlab/contract';
import { sqliteVersion } from '@shardlab/engine';
import { engineTrials, measureEngine } from './engine-trials.ts';
import { measureRaw, type RawJob, type RawResult } from './raw-limit.ts';
import { type Medians, ratiosOf, targetsOf } from './targets.ts';

export interface BenchOptions {
  dataDir: string;
  rounds: number;
  measureMs: number;
  payloadBytes: number;
  onProgress(done: number, total: number, what: string): void;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

type RawKind = Pick<RawJob, 'cycle' | 'operationsPerTransaction' | 'pageBytes'>;

export interface RawFigure extends RawKind {
  rowsPerSec: Spread;
  cpuUsPerRow: Spread;
}

export interface EngineFigure {
  driver: 'sharded' | 'unsharded';
  name: string;
  durability: 'durable';
  placement: 'embedded';
  phase: 'both at once';
  operationsPerTransaction: number;
  sessions: number;
  instances: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  cpuUsPerMessage: number;
  latencyMs: Point['latencyMs'];
  spread: { enqueuePerSec: Spread; dequeuePerSec: Spread };
  /** Added up over the repeats. */
  integrity: Integrity;
}

const rawKinds: RawKind[] = [1, 10, 100, 1_000].flatMap((operationsPerTransaction) =>
  ([4096, 16384] as const).flatMap((pageBytes) =>
    (['insert', 'insert-select-delete'] as const).map((cycle) => ({
      cycle,
      operationsPerTransaction,
      pageBytes,
    })),
  ),
);

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Runs everything and judges the targets. Rejects if a trial fails: a bench with holes would be read as a whole. */
export async function runBench(options: BenchOptions) {
  const { dataDir, rounds, measureMs, payloadBytes, onProgress } = options;
  const total = rounds * (rawKinds.length + engineTrials.length);
  let done = 0;
  const next = (what: string) => onProgress(done++, total, what);
  const raw = rawKinds.map(() => [] as RawResult[]);
  const engine = engineTrials.map(() => [] as Point[]);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, kind] of rawKinds.entries()) {
      next(`raw ${kind.cycle}, ${kind.operationsPerTransaction} a transaction`);
      raw[index]!.push(await measureRaw({ ...kind, dir: join(dataDir, 'raw'), payloadBytes, measureMs }));
    }
    for (const [index, trial] of engineTrials.entries()) {
      next(trial.name);
      engine[index]!.push(
        await measureEngine(trial, { dataDir, payloadBytes, warmupMs: measureMs / 2, measureMs }),
      );
    }
  }
  const rawLimit = rawKinds.map((kind, index) => summariseRaw(kind, raw[index]!));
  const results = engineTrials.map((trial, index) => summariseEngine(trial, engine[index]!));
  const ratios = ratiosOf(mediansOf(rawLimit, results));
  const environment = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    sqlite: sqliteVersion(),
  };
  return { environment, payloadBytes, rounds, rawLimit, results, ratios, targets: targetsOf(ratios) };
}

export type Bench = Awaited<ReturnType<typeof runBench>>;

function summariseRaw(kind: RawKind, repeats: readonly RawResult[]): RawFigure {
  return {
    ...kind,
    rowsPerSec: spreadOf(repeats.map((repeat) => repeat.rowsPerSec)),
    cpuUsPerRow: spreadOf(repeats.map((repeat) => repeat.cpuUsPerRow)),
  };
}

function summariseEngine(trial: (typeof engineTrials)[number], points: readonly Point[]): EngineFigure {
  const enqueue = spreadOf(points.map((point) => point.enqueuePerSec));
  const dequeue = spreadOf(points.map((point) => point.dequeuePerSec));
  // The latency of the repeat in the middle: percentiles are not averaged.
  const middle = points.toSorted((a, b) => a.dequeuePerSec - b.dequeuePerSec)[Math.floor(points.length / 2)]!;
  const integrity = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
  for (const point of points) {
    for (const key of Object.keys(integrity) as (keyof Integrity)[]) integrity[key] += point.integrity[key];
  }
  return {
    driver: trial.implementation,
    name: trial.name,
    durability: 'durable',
    placement: 'embedded',
    phase: 'both at once',
    operationsPerTransaction: trial.operationsPerTransaction,
    sessions: trial.threads * 2,
    instances: trial.instances,
    enqueuePerSec: enqueue.median,
    dequeuePerSec: dequeue.median,
    cpuUsPerMessage: spreadOf(points.map((point) => point.cpuUsPerMessage)).median,
    latencyMs: middle.latencyMs,
    spread: { enqueuePerSec: enqueue, dequeuePerSec: dequeue },
    integrity,
  };
}

function mediansOf(rawLimit: readonly RawFigure[], results: readonly EngineFigure[]): Medians {
  const best = (cycle: RawKind['cycle'], operations: number) =>
    Math.max(
      ...rawLimit
        .filter((figure) => figure.cycle === cycle && figure.operationsPerTransaction === operations)
        .map((figure) => figure.rowsPerSec.median),
    );
  return {
    rawInsert: best('insert', 1_000),
    rawCycle: { 10: best('insert-select-delete', 10), 1000: best('insert-select-delete', 1_000) },
    dequeuePerSec: Object.fromEntries(results.map((result) => [result.name, result.dequeuePerSec])),
    cpuUsPerMessage: Object.fromEntries(results.map((result) => [result.name, result.cpuUsPerMessage])),
  };
}
