/** Measures a repeat again if it does not count: if it was not steady, or other work disturbed it. */
import type { Phases } from '@shardlab/contract';
import { addIntegrity } from '../integrity/ledger.ts';
import type { MeasuredRepeat } from '../trial/trial.ts';

/**
 * A trial is measured at most twice. Of the trials that did not count at first, two of five counted at the second attempt, and
 * less than a quarter of the rest at a third: that time is better spent on another point.
 */
export const attemptsMax = 2;

/** Time that may be spent on repeated measurements, as a share of the planned time of the run. */
export const againShareMax = 0.15;

/** Halves of a shorter window, milliseconds, are a few commits each: whether they agree is chance, and would be chance again. */
export const againWindowMsMin = 500;

type Attempt = MeasuredRepeat;

export const isNotSteady = ({ steady }: Pick<Attempt, 'steady'>) => steady?.isSteady === false;
export const isDisturbed = ({ disturbance }: Pick<Attempt, 'disturbance'>) =>
  disturbance?.isDisturbed === true;

/** Why a repeat does not count, in words; null if it does. */
export function reasonAgainst(attempt: Pick<Attempt, 'steady' | 'disturbance'>): string | null {
  const reasons = [isNotSteady(attempt) ? 'not steady' : '', isDisturbed(attempt) ? 'disturbed' : ''];
  return reasons.filter((reason) => reason !== '').join(' and ') || null;
}

/** Whether another attempt could give a better result. Work that is counted, and not timed by a window, has no halves to compare. */
export const isWorthAnother = (
  { steady }: Pick<Attempt, 'steady'>,
  { measureMs }: Pick<Phases, 'measureMs'>,
) => steady === undefined || measureMs >= againWindowMsMin;

/**
 * The points of a run of which a repeat was measured as often as it may and was never steady. Their next repeats are measured again
 * only if they were disturbed, until one is steady: so the time for measuring again is left to points that can be.
 */
export class NeverSteadyPoints {
  readonly #keys = new Set<string>();

  /** A repeat of the point was measured, with all its attempts. */
  add(key: string, repeat: Pick<Attempt, 'steady' | 'attempts'>): void {
    if (!isNotSteady(repeat)) this.#keys.delete(key);
    else if (repeat.attempts === attemptsMax) this.#keys.add(key);
  }

  expectsAnother(key: string, attempt: Pick<Attempt, 'disturbance'>): boolean {
    return isDisturbed(attempt) || !this.#keys.has(key);
  }
}

/**
 * Runs attempts until one counts, there were `attemptsMax`, or `mayMeasureAgain` returns false. Returns the one that counts, or
 * else the one with the fewest faults, the last of equal ones. The choice depends on the conditions of an attempt, never on its
 * figures. The integrity is summed over all attempts: a fault that any of them found is a fault of the system.
 */
export async function measureRepeat(options: {
  /** `reason` is why the attempt before does not count; null at the first. */
  attempt(reason: string | null): Promise<Attempt>;
  mayMeasureAgain(attempt: Attempt): boolean;
}): Promise<Attempt> {
  const attempts: Attempt[] = [];
  let reason: string | null = null;
  do {
    const attempt = await options.attempt(reason);
    attempts.push(attempt);
    reason = reasonAgainst(attempt);
  } while (reason !== null && attempts.length < attemptsMax && options.mayMeasureAgain(attempts.at(-1)!));
  const faults = (attempt: Attempt) => Number(isNotSteady(attempt)) + Number(isDisturbed(attempt));
  const kept = attempts.reduce((best, next) => (faults(next) <= faults(best) ? next : best));
  const integrity = attempts.map((attempt) => attempt.integrity).reduce(addIntegrity);
  return { ...kept, integrity, attempts: attempts.length };
}
