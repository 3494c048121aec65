/**
 * What a soak must show, each rule with its figure. The first fifth of the run is left out: heaps and caches fill. Then
 * the last third is held against the first, by medians, since a single sample says little.
 */
import type { Integrity } from '@shardlab/contract';
import type { SoakWindow } from './protocol.ts';

export interface Sample {
  atMs: number;
  bytes: number;
}

export interface SoakFigures {
  targetPerSec: number;
  sent: number;
  consumed: number;
  /** How long the steady load took, milliseconds. */
  ms: number;
  /** Messages that waited when it ended. */
  backlog: number;
  windows: readonly SoakWindow[];
  memory: readonly Sample[];
  log: readonly Sample[];
  integrity: Integrity;
}

export interface RuleOutcome {
  name: string;
  rule: string;
  found: string;
  held: boolean;
}

export const bounds = {
  /** Of resident memory between the thirds: a share, and what a heap moves by anyway. */
  memoryGrowth: 0.1,
  memorySlackBytes: 16 * 1024 * 1024,
  /** A checkpoint runs past 32 MiB of log; groups go on while it does, and SQLite keeps up to 64 MiB of the file. */
  logBytesMax: 128 * 1024 * 1024,
  p99Growth: 0.5,
  p99SlackMs: 2,
  /** The worst window against the median one. */
  p99Worst: 5,
  p99WorstSlackMs: 20,
  rateShare: 0.98,
  backlogSeconds: 1,
} as const;

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const ms = (value: number) => `${value.toFixed(2)} ms`;

export function judgeSoak(figures: SoakFigures): RuleOutcome[] {
  return [
    memoryRule(figures),
    logRule(figures),
    ...latencyRules(figures),
    rateRule(figures),
    wholeRule(figures),
  ];
}

function memoryRule({ memory, ms: length }: SoakFigures): RuleOutcome {
  const [first, last] = thirds(memory, length, ({ bytes }) => bytes);
  const allowed = first * (1 + bounds.memoryGrowth) + bounds.memorySlackBytes;
  return {
    name: 'flat memory',
    rule: `median of the last third at most 10 % and ${mib(bounds.memorySlackBytes)} above that of the first`,
    found: `${mib(first)} → ${mib(last)}`,
    held: last <= allowed,
  };
}

function logRule({ log }: SoakFigures): RuleOutcome {
  const most = Math.max(0, ...log.map(({ bytes }) => bytes));
  return {
    name: 'bounded log',
    rule: `never above ${mib(bounds.logBytesMax)}`,
    found: `at most ${mib(most)}`,
    held: most <= bounds.logBytesMax,
  };
}

function latencyRules({ windows, ms: length }: SoakFigures): RuleOutcome[] {
  const p99 = (window: SoakWindow) => window.latencyMs.p99;
  const [first, last] = thirds(windows, length, p99);
  const settled = afterStart(windows, length).map(p99);
  const [middle, worst] = [median(settled), Math.max(0, ...settled)];
  return [
    {
      name: 'steady p99',
      rule: `median of the last third's windows at most 50 % and ${bounds.p99SlackMs} ms above that of the first's`,
      found: `${ms(first)} → ${ms(last)}`,
      held: last <= first * (1 + bounds.p99Growth) + bounds.p99SlackMs,
    },
    {
      name: 'no bad window',
      rule: `p99 of the worst window at most ${bounds.p99Worst} × the median one and ${bounds.p99WorstSlackMs} ms`,
      found: `${ms(worst)}, median ${ms(middle)}`,
      held: worst <= middle * bounds.p99Worst + bounds.p99WorstSlackMs,
    },
  ];
}

function rateRule({ targetPerSec, sent, ms: length, backlog }: SoakFigures): RuleOutcome {
  const perSec = (sent / length) * 1_000;
  return {
    name: 'keeps up',
    rule: 'sends 98 % of the rate, and less than a second of it waits at the end',
    found: `${perSec.toFixed(0)}/s of ${targetPerSec.toFixed(0)}/s, ${backlog} waiting`,
    held: perSec >= targetPerSec * bounds.rateShare && backlog <= targetPerSec * bounds.backlogSeconds,
  };
}

function wholeRule({ integrity: { lost, duplicated, damaged, outOfOrder } }: SoakFigures): RuleOutcome {
  return {
    name: 'integrity',
    rule: 'nothing lost, doubled, damaged or out of order',
    found: `${lost} lost, ${duplicated} doubled, ${damaged} damaged, ${outOfOrder} out of order`,
    held: lost + duplicated + damaged + outOfOrder === 0,
  };
}

function afterStart<T extends { atMs: number }>(samples: readonly T[], length: number): T[] {
  return samples.filter(({ atMs }) => atMs > length / 5);
}

/** Medians of the first and of the last third of what comes after the start. */
function thirds<T extends { atMs: number }>(
  samples: readonly T[],
  length: number,
  of: (sample: T) => number,
): [first: number, last: number] {
  const settled = afterStart(samples, length);
  const third = Math.max(1, Math.ceil(settled.length / 3));
  return [median(settled.slice(0, third).map(of)), median(settled.slice(-third).map(of))];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
