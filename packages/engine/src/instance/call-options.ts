/** What callers of a session ask for, within its bounds. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { DequeueOptions } from '../types.ts';

export type CheckedDequeue = DequeueOptions & { max: number; waitMs: number };

/** An object of the session's own, to add to. Throws `OPTIONS_INVALID`. */
export function checkDequeue(options: DequeueOptions): CheckedDequeue {
  const { max = 1, waitMs = 0 } = options;
  checkRange('max', max, 1, limits.dequeueMax);
  checkRange('waitMs', waitMs, 0, limits.waitMsMax);
  return { ...options, max, waitMs };
}

/** Throws `OPTIONS_INVALID`. */
export function checkHold(holdMs: number): number {
  checkRange('holdMs', holdMs, limits.holdMsMin, limits.holdMsMax);
  return holdMs;
}

function checkRange(option: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new QueueError('OPTIONS_INVALID', {
    sentence: `${option} is ${value}; a whole number from ${least} to ${most} is needed`,
    details: { option, value, least, most },
  });
}
