import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LeaseSign, LeaseWatch } from '../src/core/lease-watch.ts';

const options = { leaseMs: 1_000, lookLateMs: 250, graceMs: 500 };
const claim = { instance: 1, claim: 7 };
const sign = (expiresAtMs: number, fields: Partial<LeaseSign> = {}): LeaseSign => ({
  ...claim,
  expiresAtMs,
  epoch: 1,
  pid: 1,
  ...fields,
});

/** Looks every 50 ms up to `untilMs`, at the signs that `signsAt` shows; says when the lease lapsed first. */
function watchUntil(
  untilMs: number,
  signsAt: (nowMs: number) => LeaseSign[],
  watch = new LeaseWatch(options),
  fromMs = 0,
): number | undefined {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 50) {
    watch.look(nowMs, [claim], signsAt(nowMs));
    if (watch.lapsed(1)) return nowMs;
  }
  return undefined;
}

describe('a lease as others see it', () => {
  it('lapses once its last renewal has run out', () => {
    const stoppedAt = 2_000;
    const renewedAt = (nowMs: number) => Math.min(nowMs, stoppedAt) - (Math.min(nowMs, stoppedAt) % 250);
    expect(watchUntil(5_000, (nowMs) => [sign(renewedAt(nowMs) + 1_000)])).toBe(3_050);
  });

  it('is whole from the first look at a new claim on, though nothing is renewed yet', () => {
    expect(watchUntil(5_000, () => [])).toBe(1_050);
  });

  it('is not renewed by the signs of an older claim, and not hidden by them', () => {
    expect(watchUntil(5_000, (nowMs) => [sign(nowMs + 1_000, { claim: 6 })])).toBe(1_050);
    const both = (nowMs: number) =>
      nowMs % 100 === 0 ? [sign(nowMs + 900, { claim: 6 })] : [sign(nowMs + 900)];
    expect(watchUntil(5_000, both)).toBeUndefined();
  });

  it('is not renewed by a sign of an earlier boot, whose clock was ahead', () => {
    expect(watchUntil(5_000, () => [sign(9_000_000)])).toBe(1_050);
  });

  it('does not lapse for who stood still itself, until the others had time to renew', () => {
    const watch = new LeaseWatch(options);
    expect(watchUntil(1_000, (nowMs) => [sign(nowMs + 900)], watch)).toBeUndefined();
    // The whole machine stood still for a minute; the other one renews 300 ms after this one looks again.
    const renews = (nowMs: number) => [sign(nowMs < 61_300 ? 1_900 : nowMs + 900)];
    expect(watchUntil(70_000, renews, watch, 61_000)).toBeUndefined();
    const staysSilent = () => [sign(61_500)];
    expect(watchUntil(140_000, staysSilent, watch, 130_000)).toBe(130_500);
  });

  it('never lapses while it is renewed in time, however irregular the looks are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 }), (gaps) => {
        const watch = new LeaseWatch(options);
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          watch.look(nowMs, [claim], [sign(nowMs - (nowMs % 250) + 1_000)]);
          expect(watch.lapsed(1)).toBe(false);
        }
      }),
    );
  });
});
