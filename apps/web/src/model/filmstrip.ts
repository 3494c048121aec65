/**
 * The trials of a run in their order, one frame each of equal width, whatever its duration: the scrubber of the run page. A
 * position on the strip is a time of the run and back. Times are milliseconds since the start of the run.
 */
import { type Params, type Point, parametersKey, pointKey, type Tick } from '@shardlab/contract';

export interface Frame {
  trial: number;
  system: string;
  params: Params;
  /** Key of the combination, see `pointKey`. */
  pointKey: string;
  /** Ticks in order of time; never empty. */
  ticks: readonly Tick[];
  fromMs: number;
  toMs: number;
  /** Mean dequeue rate of the measured ticks, messages per second; of all ticks if none was kept of the measured phase. */
  perSec: number;
}

/** `ticks` in order of time. A trial that was measured again has one frame, of its last attempt. */
export function framesOf(ticks: readonly Tick[]): Frame[] {
  const byTrial = new Map<number, Tick[]>();
  for (const tick of ticks) {
    const known = byTrial.get(tick.trial);
    const last = known?.at(-1);
    const again = last !== undefined && tick.phase === 'warmup' && last.phase !== 'warmup';
    if (known === undefined || again) byTrial.set(tick.trial, [tick]);
    else known.push(tick);
  }
  return [...byTrial.entries()]
    .sort(([a], [b]) => a - b)
    .map(([trial, own]) => {
      const [first, last] = [own[0]!, own.at(-1)!];
      const { system, params } = first;
      return {
        trial,
        system,
        params,
        pointKey: pointKey(first),
        ticks: own,
        fromMs: first.atMs,
        toMs: last.atMs,
        perSec: meanRate(measuredOf(own)),
      };
    });
}

const rateOf = (tick: Tick): number =>
  tick.instances.reduce((sum, { dequeuePerSec }) => sum + dequeuePerSec, 0);
const measuredOf = (ticks: readonly Tick[]): readonly Tick[] => {
  const measured = ticks.filter(({ phase }) => phase === 'measure');
  return measured.length > 0 ? measured : ticks;
};
const meanRate = (ticks: readonly Tick[]): number =>
  ticks.reduce((sum, tick) => sum + rateOf(tick), 0) / ticks.length;

/** The time at a position, 0 to 1 over the whole strip; null if it has no frames. */
export function timeAt(frames: readonly Frame[], position: number): number | null {
  if (frames.length === 0) return null;
  const place = Math.min(0.999999, Math.max(0, position)) * frames.length;
  const frame = frames[Math.floor(place)]!;
  return frame.fromMs + (place % 1) * (frame.toMs - frame.fromMs);
}

/** The position of a time, 0 to 1; times between two frames are at the end of the earlier one. */
export function positionOf(frames: readonly Frame[], atMs: number): number {
  const index = frameIndexAt(frames, atMs);
  const frame = frames[index];
  if (frame === undefined) return 0;
  const span = frame.toMs - frame.fromMs;
  const within = span <= 0 ? 0.5 : Math.min(1, Math.max(0, (atMs - frame.fromMs) / span));
  return (index + within) / frames.length;
}

/** The last frame that began at or before a time, or else the first. */
export function frameIndexAt(frames: readonly Frame[], atMs: number): number {
  const index = frames.findLastIndex(({ fromMs }) => fromMs <= atMs);
  return Math.max(0, index);
}

/**
 * The middle of the measured phase of the trial that is `by` trials after the one at `atMs`; stays at the ends. With `atMs` null,
 * a step forward leads to the first trial and a step backward to the last. Null if there are no trials.
 */
export function stepFrame(frames: readonly Frame[], atMs: number | null, by: number): number | null {
  if (frames.length === 0) return null;
  const from = atMs === null ? (by > 0 ? -1 : frames.length) : frameIndexAt(frames, atMs);
  return middleOf(frames[Math.min(frames.length - 1, Math.max(0, from + by))]!);
}

/** A moment of one system in a trial. */
export interface Moment {
  frame: Frame;
  tick: Tick;
  /** Whether the run is there now. */
  isNow: boolean;
}

/**
 * The moments shown at a time: that of the trial there, and those of the other systems' trials with the same parameters, at the
 * same time after their start. With `atMs` null it is now for a run under way; otherwise the middle of the measured phase of
 * `fallback` (a point's parameters), or of the last trial whose parameters all these systems have.
 */
export function momentsAt(
  frames: readonly Frame[],
  options: {
    atMs: number | null;
    isUnderWay: boolean;
    systems: readonly string[];
    fallback: Pick<Point, 'program' | 'params'> | null;
  },
): (Moment | null)[] {
  const { atMs, isUnderWay, systems, fallback } = options;
  const last = frames.at(-1);
  if (last === undefined) return systems.map(() => null);
  const isNow = atMs === null && isUnderWay;
  const wanted = fallback === null ? null : parametersKey(fallback);
  const own =
    atMs !== null
      ? frames[frameIndexAt(frames, atMs)]!
      : isUnderWay
        ? last
        : (frames.findLast((frame) => parametersOf(frame) === wanted) ?? lastOfAll(frames, systems));
  const time = atMs ?? (isUnderWay ? own.toMs : middleOf(own));
  const share = own.toMs > own.fromMs ? (time - own.fromMs) / (own.toMs - own.fromMs) : 0.5;
  const parameters = parametersOf(own);
  return systems.map((system) => {
    const frame =
      own.system === system
        ? own
        : frames.findLast((each) => each.system === system && parametersOf(each) === parameters);
    if (frame === undefined) return null;
    const at =
      frame === own ? time : isNow ? middleOf(frame) : frame.fromMs + share * (frame.toMs - frame.fromMs);
    return momentOf(frame, at, isNow && frame === own);
  });
}

const parametersOf = ({ ticks }: Frame): string => parametersKey(ticks[0]!);

/** The last frame whose parameters have frames of all these systems, or else the last one. */
function lastOfAll(frames: readonly Frame[], systems: readonly string[]): Frame {
  const systemsAt = new Map<string, Set<string>>();
  for (const frame of frames) {
    const known = systemsAt.get(parametersOf(frame)) ?? new Set();
    systemsAt.set(parametersOf(frame), known.add(frame.system));
  }
  const hasAll = (frame: Frame) => systems.every((system) => systemsAt.get(parametersOf(frame))!.has(system));
  return frames.findLast(hasAll) ?? frames.at(-1)!;
}

function momentOf(frame: Frame, atMs: number, isNow: boolean): Moment {
  const index = Math.max(
    0,
    frame.ticks.findLastIndex((tick) => tick.atMs <= atMs),
  );
  return { frame, tick: frame.ticks[index]!, isNow };
}

/** The middle tick of the measured phase, or of the trial if none was kept of it. */
function middleOf({ ticks }: Frame): number {
  const shown = measuredOf(ticks);
  return shown[Math.floor(shown.length / 2)]!.atMs;
}
