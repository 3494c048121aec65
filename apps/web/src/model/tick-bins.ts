/** Ticks put into bins of equal width, so that a long run costs no more to draw than a short one. */
import type { Tick } from '@shardlab/contract';

/** A tick and the time that its rates and waits cover. */
export interface TimedTick {
  tick: Tick;
  /** Milliseconds since the tick that was taken before it in the same trial. */
  spanMs: number;
}

export interface TickBin {
  /** When its first tick began and its last one was taken, milliseconds since the start of the run. */
  fromMs: number;
  atMs: number;
  /** Time that its ticks cover together: less than from `fromMs` to `atMs` where ticks were left out. */
  spanMs: number;
  ticks: TimedTick[];
}

/** All ticks of one trial in time order: lines are not drawn across the gap between two trials. */
export interface TrialTicks {
  trial: number;
  first: Tick;
  fromMs: number;
  toMs: number;
  bins: TickBin[];
}

/** What the lab aims at between two ticks; the span of a trial's first one, which has none before it. */
const usualSpanMs = 250;

/**
 * A gap longer than this is not one late tick but ticks left out: the server thins those of a long run. What is left
 * still covers its own moment only.
 */
const spanMsMax = 450;

/**
 * Groups ticks by trial and bin. A bin is at least as wide as a usual tick: the last tick of a trial may come a few
 * milliseconds after the one before, and a rate over so little says nothing alone.
 */
export function binTicks(
  ticks: readonly Tick[],
  options: { fromMs: number; toMs: number; binsMax: number },
): TrialTicks[] {
  const { fromMs, toMs, binsMax } = options;
  const widthMs = Math.max(usualSpanMs, (toMs - fromMs) / binsMax);
  const trials: TrialTicks[] = [];
  let before: Tick | null = null;
  for (const tick of ticks) {
    const continues = before?.trial === tick.trial;
    const gapMs = continues ? tick.atMs - before!.atMs : usualSpanMs;
    const spanMs = gapMs > spanMsMax ? usualSpanMs : gapMs;
    before = tick;
    if (tick.atMs < fromMs || tick.atMs > toMs || spanMs <= 0) continue;
    let trial = trials.at(-1);
    if (trial?.trial !== tick.trial) {
      const start = tick.atMs - spanMs;
      trial = { trial: tick.trial, first: tick, fromMs: start, toMs: tick.atMs, bins: [] };
      trials.push(trial);
    }
    trial.toMs = tick.atMs;
    const bin = trial.bins.at(-1);
    const fits = bin !== undefined && tick.atMs - bin.fromMs <= widthMs;
    const stub = bin !== undefined && gapMs < usualSpanMs / 2;
    if (fits || stub) {
      bin.ticks.push({ tick, spanMs });
      bin.atMs = tick.atMs;
      bin.spanMs += spanMs;
    } else {
      trial.bins.push({ fromMs: tick.atMs - spanMs, atMs: tick.atMs, spanMs, ticks: [{ tick, spanMs }] });
    }
  }
  return trials;
}

/** Mean over a bin, each tick weighted by the time that it covers. For rates and for shares of time only. */
export function meanOver(bin: TickBin, read: (tick: Tick) => number): number {
  return bin.ticks.reduce((sum, { tick, spanMs }) => sum + read(tick) * spanMs, 0) / bin.spanMs;
}
