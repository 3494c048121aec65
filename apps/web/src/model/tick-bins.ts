/** Groups ticks into bins of equal width, so that drawing a long run costs no more than a short one. */
import type { Tick } from '@shardlab/contract';

export interface TickBin {
  /** From the start of its first tick to its last tick, milliseconds since the start of the run. */
  fromMs: number;
  atMs: number;
  /** Duration that its ticks cover. Less than `atMs - fromMs` if the server left out ticks. */
  spanMs: number;
  ticks: Tick[];
}

/**
 * The ticks of one trial in order of time. Trials are kept apart, so that no line is drawn across the gap between two.
 */
export interface TrialTicks {
  trial: number;
  first: Tick;
  fromMs: number;
  toMs: number;
  bins: TickBin[];
}

/** The interval at which the lab sends ticks. */
const usualSpanMs = 250;

/** The duration that the rates and waits of a tick cover: of the instance that was sampled last, the longest. */
export const spanOf = ({ instances }: Tick): number => Math.max(...instances.map(({ spanMs }) => spanMs));

/**
 * Groups ticks by trial and bin. A tick that follows too soon after the previous one joins its bin: the last tick of a
 * trial may come after a few milliseconds, and a rate over so short a time is noise.
 */
export function binTicks(
  ticks: readonly Tick[],
  options: { fromMs: number; toMs: number; binsMax: number },
): TrialTicks[] {
  const { fromMs, toMs, binsMax } = options;
  const widthMs = Math.max(usualSpanMs, (toMs - fromMs) / binsMax);
  const trials: TrialTicks[] = [];
  for (const tick of ticks) {
    const spanMs = spanOf(tick);
    if (tick.atMs < fromMs || tick.atMs > toMs) continue;
    let trial = trials.at(-1);
    if (trial?.trial !== tick.trial) {
      const start = tick.atMs - spanMs;
      trial = { trial: tick.trial, first: tick, fromMs: start, toMs: tick.atMs, bins: [] };
      trials.push(trial);
    }
    trial.toMs = tick.atMs;
    const bin = trial.bins.at(-1);
    const fits = bin !== undefined && tick.atMs - bin.fromMs <= widthMs;
    const isTooShort = bin !== undefined && spanMs < usualSpanMs / 2;
    if (fits || isTooShort) {
      bin.ticks.push(tick);
      bin.atMs = tick.atMs;
      bin.spanMs += spanMs;
    } else {
      trial.bins.push({ fromMs: tick.atMs - spanMs, atMs: tick.atMs, spanMs, ticks: [tick] });
    }
  }
  return trials;
}

/** Mean over a bin, weighted by the duration of each tick. Valid for rates and for shares of time only. */
export function meanOver(bin: TickBin, read: (tick: Tick) => number): number {
  return bin.ticks.reduce((sum, tick) => sum + read(tick) * spanOf(tick), 0) / bin.spanMs;
}
