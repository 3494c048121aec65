/**
 * The rules that a soak test must pass. The first fifth of the run is ignored, because heaps and caches are still
 * filling. Of the rest, the last third is compared with the first third by medians, because single samples say little.
 */
import type { Integrity } from '@shardlab/contract';
import type { SoakWindow } from './protocol.ts';

export interface Sample {
  atMs: number;
  bytes: number;
}

export interface SoakMeasurements {
  targetPerSec: number;
  sent: number;
  consumed: number;
  /** Duration of the steady load, milliseconds. */
  ms: number;
  /** Messages in the queue when the steady load ended. */
  backlog: number;
  windows: readonly SoakWindow[];
  memory: readonly Sample[];
  log: readonly Sample[];
  integrity: Integrity;
}

export interface RuleOutcome {
  name: string;
  rule: string;
  measured: string;
  passed: boolean;
}

export const ruleLimits = {
  /** Allowed growth of resident memory between the thirds: a share, plus the usual fluctuation of a heap. */
  memoryGrowth: 0.1,
  memorySlackBytes: 16 * 1024 * 1024,
  /** A checkpoint starts at 32 MiB of log. Groups keep committing during it, and SQLite keeps up to 64 MiB of the file. */
  logBytesMax: 128 * 1024 * 1024,
  p99Growth: 0.5,
  p99SlackMs: 2,
  /** p99 of the worst window relative to the median window. */
  p99Worst: 5,
  p99WorstSlackMs: 20,
  rateShare: 0.98,
  backlogSeconds: 1,
} as const;

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const ms = (value: number) => `${value.toFixed(2)} ms`;

export function judgeSoak(measurements: SoakMeasurements): RuleOutcome[] {
  return [
    memoryRule(measurements),
    logRule(measurements),
    ...latencyRules(measurements),
    rateRule(measurements),
    integrityRule(measurements),
  ];
}

function memoryRule({ memory, ms: length }: SoakMeasurements): RuleOutcome {
  const [first, last] = thirds(memory, length, ({ bytes }) => bytes);
  const allowed = first * (1 + ruleLimits.memoryGrowth) + ruleLimits.memorySlackBytes;
  return {
    name: 'flat memory',
    rule: `the median of the last third exceeds that of the first by at most 10 % plus ${mib(ruleLimits.memorySlackBytes)}`,
    measured: `${mib(first)} → ${mib(last)}`,
    passed: last <= allowed,
  };
}

function logRule({ log }: SoakMeasurements): RuleOutcome {
  const largest = Math.max(0, ...log.map(({ bytes }) => bytes));
  return {
    name: 'bounded log',
    rule: `never larger than ${mib(ruleLimits.logBytesMax)}`,
    measured: `largest ${mib(largest)}`,
    passed: largest <= ruleLimits.logBytesMax,
  };
}

function latencyRules({ windows, ms: length }: SoakMeasurements): RuleOutcome[] {
  const p99 = (window: SoakWindow) => window.latencyMs.p99;
  const [first, last] = thirds(windows, length, p99);
  const settled = afterStart(windows, length).map(p99);
  const [middle, worst] = [median(settled), Math.max(0, ...settled)];
  return [
    {
      name: 'steady p99',
      rule: `the median of the last third's windows exceeds that of the first third's by at most 50 % plus ${ruleLimits.p99SlackMs} ms`,
      measured: `${ms(first)} → ${ms(last)}`,
      passed: last <= first * (1 + ruleLimits.p99Growth) + ruleLimits.p99SlackMs,
    },
    {
      name: 'no slow window',
      rule: `p99 of the worst window is at most ${ruleLimits.p99Worst} × that of the median window plus ${ruleLimits.p99WorstSlackMs} ms`,
      measured: `${ms(worst)}, median ${ms(middle)}`,
      passed: worst <= middle * ruleLimits.p99Worst + ruleLimits.p99WorstSlackMs,
    },
  ];
}

function rateRule({ targetPerSec, sent, ms: length, backlog }: SoakMeasurements): RuleOutcome {
  const perSec = (sent / length) * 1_000;
  return {
    name: 'keeps up',
    rule: 'at least 98 % of the target rate is sent, and the backlog at the end is at most one second of it',
    measured: `${perSec.toFixed(0)}/s of ${targetPerSec.toFixed(0)}/s, backlog ${backlog}`,
    passed:
      perSec >= targetPerSec * ruleLimits.rateShare && backlog <= targetPerSec * ruleLimits.backlogSeconds,
  };
}

function integrityRule({
  integrity: { lost, duplicated, damaged, outOfOrder },
}: SoakMeasurements): RuleOutcome {
  return {
    name: 'integrity',
    rule: 'no message is lost, duplicated, damaged or out of order',
    measured: `${lost} lost, ${duplicated} duplicated, ${damaged} damaged, ${outOfOrder} out of order`,
    passed: lost + duplicated + damaged + outOfOrder === 0,
  };
}

function afterStart<T extends { atMs: number }>(samples: readonly T[], length: number): T[] {
  return samples.filter(({ atMs }) => atMs > length / 5);
}

/** Medians of the first and last third of the samples after the start. */
function thirds<T extends { atMs: number }>(
  samples: readonly T[],
  length: number,
  measure: (sample: T) => number,
): [first: number, last: number] {
  const settled = afterStart(samples, length);
  const third = Math.max(1, Math.ceil(settled.length / 3));
  return [median(settled.slice(0, third).map(measure)), median(settled.slice(-third).map(measure))];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
