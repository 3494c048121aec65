/** The answer of the model in a sentence for each system: how much, what changed since the last position, what limits it. */
import { figureOf } from '@shardlab/contract';
import type { Metric } from './point-metrics.ts';
import { positionInWords } from './slider-words.ts';
import { type Position, type WhatIfSettings, whatIfDefault } from './what-if.ts';
import { type LimitedBy, limitedBy, limitNames } from './what-if-limits.ts';
import type { SimulatedPoint } from './what-if-series.ts';

export interface SystemAnswer extends LimitedBy {
  system: string;
  threads: number;
  value: number;
  /** Now ÷ before − 1; null where there is no last position with the same number of threads. */
  change: number | null;
}

/** Answers for each system at the number of threads with the highest rate, or at `threads`, if that was simulated. */
export function answersOf(
  simulated: readonly SimulatedPoint[],
  before: readonly SimulatedPoint[],
  { metric, threads }: { metric: Metric; threads: number | null },
): SystemAnswer[] {
  return (['sharded', 'unsharded'] as const).flatMap((system) => {
    const own = simulated.filter(({ job }) => job.system === system);
    const best = own.reduce<SimulatedPoint | null>(
      (most, point) => (most === null || rateOf(point) > rateOf(most) ? point : most),
      null,
    );
    const at = own.find(({ job }) => job.threads === threads) ?? best;
    if (at === null) return [];
    const { key, threads: atThreads } = at.job;
    const value = metric.read(at.result);
    const last = before.find(({ job }) => job.key === key);
    const lastValue = last === undefined ? 0 : metric.read(last.result);
    return [
      {
        system,
        threads: atThreads,
        value,
        change: lastValue > 0 && value > 0 ? value / lastValue - 1 : null,
        ...limitedBy(at.result.use, at.result.timeShare),
      },
    ];
  });
}

const rateOf = ({ result }: SimulatedPoint) => figureOf(result, 'dequeuePerSec');

/** "+12 %", "−3 %", "unchanged"; from a factor of two on "× 3.4". */
export function changeInWords(change: number): string {
  const percent = Math.round(change * 100);
  if (percent === 0) return 'unchanged';
  if (change >= 1) return `× ${(change + 1).toFixed(change >= 9 ? 0 : 1)}`;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

/** How the last position differs, in the words of its sliders: "Disk sync time 20 ms". Empty where it does not. */
export function differenceInWords(last: Position, now: Position): string {
  const names = Object.keys(whatIfDefault) as (keyof WhatIfSettings)[];
  return [
    ...(last.machine === now.machine ? [] : [last.machine]),
    ...names
      .filter((name) => last.settings[name] !== now.settings[name])
      .map((name) => positionInWords(name, last.settings[name])),
    ...last.without
      .filter((limit) => !now.without.includes(limit))
      .map((limit) => `${limitNames[limit]} removed`),
    ...now.without
      .filter((limit) => !last.without.includes(limit))
      .map((limit) => `${limitNames[limit]} not removed`),
  ].join(', ');
}
