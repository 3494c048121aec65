/** Ticks put into bins of equal width, so that a long run costs no more to draw than a short one. */
import type { Tick } from '@shardlab/contract';

/** A tick and the time that its rates and waits cover. */
export interface TimedTick {
  tick: Tick;
  /** Milliseconds since the tick before in the same trial. */
  spanMs: number;
}

export interface TickBin {
  /** When its last tick was taken, milliseconds since the start of the run. */
  atMs: number;
  /** Time that its ticks cover together. */
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
    const spanMs = continues ? tick.atMs - before!.atMs : usualSpanMs;
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
    if (bin !== undefined && tick.atMs - bin.atMs + bin.spanMs <= widthMs) {
      bin.ticks.push({ tick, spanMs });
      bin.atMs = tick.atMs;
      bin.spanMs += spanMs;
    } else if (bin !== undefined && spanMs < usualSpanMs / 2) {
      bin.ticks.push({ tick, spanMs });
      bin.spanMs += spanMs;
      bin.atMs = tick.atMs;
    } else {
      trial.bins.push({ atMs: tick.atMs, spanMs, ticks: [{ tick, spanMs }] });
    }
  }
  return trials;
}

/** Mean over a bin, each tick weighted by the time that it covers. For rates and for shares of time only. */
export function meanOver(bin: TickBin, read: (tick: Tick) => number): number {
  return bin.ticks.reduce((sum, { tick, spanMs }) => sum + read(tick) * spanMs, 0) / bin.spanMs;
}
