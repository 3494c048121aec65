/** The numbers that a lesson's run yields, and the texts that name them. */
import { figureOf, type Lesson, type Point, type PointSelector, type Quantity } from '@shardlab/contract';
import { queueSessions } from './contention.ts';
import { formatCores, formatMicros, formatMs, formatNanos, formatRate, formatValue } from './format.ts';

/** Quantities by name; null for one that the run does not have. */
export type Measured = ReadonlyMap<string, number | null>;

export function measuredQuantities({ quantities }: Lesson, points: readonly Point[]): Measured {
  const measured = new Map<string, number | null>();
  for (const [name, quantity] of Object.entries(quantities)) {
    const value = measure(quantity, points, measured);
    measured.set(name, value !== null && Number.isFinite(value) ? value : null);
  }
  return measured;
}

/** The first point that a selector means; undefined if it was not measured. */
export const selectPoint = (points: readonly Point[], { system, params }: PointSelector): Point | undefined =>
  points.find(
    (point) =>
      point.system === system &&
      Object.entries(params).every(([name, value]) => point.params[name] === value),
  );

function measure(quantity: Quantity, points: readonly Point[], before: Measured): number | null {
  if ('ratio' in quantity || 'difference' in quantity) {
    const [first, second] = ('ratio' in quantity ? quantity.ratio : quantity.difference).map(
      (name) => before.get(name) ?? null,
    ) as [number | null, number | null];
    if (first === null || second === null) return null;
    return 'ratio' in quantity ? first / second : first - second;
  }
  const point = selectPoint(points, quantity.at);
  if (point === undefined) return null;
  if ('figure' in quantity) {
    return point.figures[quantity.figure] === undefined ? null : figureOf(point, quantity.figure);
  }
  if ('wait' in quantity) {
    // A point without the event had no such waits.
    return queueSessions(point).waits.find(({ event }) => event === quantity.wait)?.sessions ?? 0;
  }
  if ('integrity' in quantity) return point.integrity[quantity.integrity];
  const outcome = point.repeats[0]?.faults?.find(({ kind }) => kind === quantity.fault);
  if (outcome === undefined) return null;
  const { take } = quantity;
  return take === 'takeoverMs' || take === 'outageMs' ? outcome[take] : outcome.dequeuePerSec[take];
}

const narrowSpace = '\u202f';

const formats: Readonly<Record<Quantity['format'], (value: number) => string>> = {
  rate: formatRate,
  nanoseconds: formatNanos,
  microseconds: (us) => (us > 0 ? formatMicros(us) : `0${narrowSpace}µs`),
  milliseconds: (ms) => (ms === 0 ? `0${narrowSpace}ms` : ms < 0 ? `−${formatMs(-ms)}` : formatMs(ms)),
  cores: formatCores,
  count: (count) => formatValue(count),
  ratio: (share) => `${formatValue(100 * share)}${narrowSpace}%`,
  times: (factor) => `${formatValue(factor)} ${formatValue(factor) === '1' ? 'time' : 'times'}`,
};

/** A value of a quantity with its unit. */
export const inWords = ({ quantities }: Lesson, name: string, value: number): string =>
  formats[quantities[name]?.format ?? 'count'](value);

/** The text with its quantities; null if one of them was not measured. */
export function fillIn(text: string, lesson: Lesson, measured: Measured): string | null {
  let isComplete = true;
  const filled = text.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const value = measured.get(name) ?? null;
    if (value === null) {
      isComplete = false;
      return '';
    }
    return inWords(lesson, name, value);
  });
  return isComplete ? filled : null;
}
