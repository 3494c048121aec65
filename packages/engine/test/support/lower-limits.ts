/** Lower limits of this process for one test, so that it reaches one without making a million of something. */
import { onTestFinished } from 'vitest';
import { limits } from '../../src/api/limits.ts';

export function lowerLimits(lowered: Partial<Record<keyof typeof limits, number>>): void {
  const before = { ...limits };
  Object.assign(limits, lowered);
  onTestFinished(() => void Object.assign(limits, before));
}
