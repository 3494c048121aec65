/** After which time a refused enqueue is told to try again. */
import { expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { retryHintMs } from '../src/queues/flow-control.ts';

it.each([
  ['the time to consume what is too much, rounded up', 3, 2_000, 2],
  ['no shorter than a millisecond', 1, 1_000_000, limits.enqueueRetryMsMin],
  ['no longer than ten seconds', 1_000, 1, limits.enqueueRetryMsMax],
  ['a second where nothing was consumed of late', 1, 0, limits.enqueueRetryMsUnknown],
])('the hint is %s', (_what, excess, consumedPerSec, hintMs) => {
  expect(retryHintMs(excess, consumedPerSec)).toBe(hintMs);
});
