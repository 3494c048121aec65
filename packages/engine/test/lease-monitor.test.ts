import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LeaseHeartbeat, LeaseMonitor } from '../src/model/lease-monitor.ts';

const options = { leaseMs: 1_000, openingMs: 5_000, scanLateMs: 250, graceMs: 500 };
const claim = { instance: 1, claim: 7 };
const heartbeat = (expiresAtMs: number, fields: Partial<LeaseHeartbeat> = {}): LeaseHeartbeat => ({
  ...claim,
  expiresAtMs,
  epoch: 1,
  pid: 1,
  ...fields,
});

/** Scans every 50 ms up to `untilMs`. Returns the time of the first scan that found the lease expired. */
function scanUntil(
  untilMs: number,
  heartbeatsAt: (nowMs: number) => LeaseHeartbeat[],
  monitor = new LeaseMonitor(options),
  fromMs = 0,
): number | undefined {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 50) {
    monitor.observe(nowMs, [claim], heartbeatsAt(nowMs));
    if (monitor.hasLapsed(1)) return nowMs;
  }
  return undefined;
}

describe('a lease as another process sees it', () => {
  it('expires when the time of its last renewal is over', () => {
    const stoppedAt = 2_000;
    const renewedAt = (nowMs: number) => Math.min(nowMs, stoppedAt) - (Math.min(nowMs, stoppedAt) % 250);
    expect(scanUntil(5_000, (nowMs) => [heartbeat(renewedAt(nowMs) + 1_000)])).toBe(3_050);
  });

  it('lasts its full time from the first scan that sees a new claim', () => {
    expect(scanUntil(5_000, () => [heartbeat(-9_000)])).toBe(1_050);
  });

  it('lasts longer while the instance is being opened, with or without a heartbeat', () => {
    expect(scanUntil(9_000, () => [])).toBe(5_050);
    expect(scanUntil(9_000, () => [heartbeat(500, { epoch: 0 })])).toBe(5_050);
    expect(scanUntil(9_000, () => [heartbeat(1_500, { epoch: 0 })])).toBe(5_550);
  });

  it('lasts its usual time once the instance is open', () => {
    const opensAt = (nowMs: number) => [heartbeat(1_000, { epoch: nowMs < 600 ? 0 : 1 })];
    expect(scanUntil(9_000, opensAt)).toBe(1_050);
  });

  it('is not renewed by heartbeats of an older claim, and newer heartbeats are seen despite them', () => {
    expect(scanUntil(9_000, (nowMs) => [heartbeat(nowMs + 1_000, { claim: 6 })])).toBe(5_050);
    const both = (nowMs: number) =>
      nowMs % 100 === 0 ? [heartbeat(nowMs + 900, { claim: 6 })] : [heartbeat(nowMs + 900)];
    expect(scanUntil(5_000, both)).toBeUndefined();
  });

  it('is not renewed by a heartbeat of an earlier boot, whose clock was ahead', () => {
    expect(scanUntil(9_000, () => [heartbeat(9_000_000)])).toBe(5_050);
  });

  it('does not expire after a suspension of this process before other processes had time to renew it', () => {
    const monitor = new LeaseMonitor(options);
    expect(scanUntil(1_000, (nowMs) => [heartbeat(nowMs + 900)], monitor)).toBeUndefined();
    // The whole machine was suspended for a minute. The other process renews 300 ms after the first scan of this one.
    const renews = (nowMs: number) => [heartbeat(nowMs < 61_300 ? 1_900 : nowMs + 900)];
    expect(scanUntil(70_000, renews, monitor, 61_000)).toBeUndefined();
    const staysSilent = () => [heartbeat(61_500)];
    expect(scanUntil(140_000, staysSilent, monitor, 130_000)).toBe(130_500);
  });

  it('never expires while it is renewed in time, however irregular the scans are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 }), (gaps) => {
        const monitor = new LeaseMonitor(options);
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          monitor.observe(nowMs, [claim], [heartbeat(nowMs - (nowMs % 250) + 1_000)]);
          expect(monitor.hasLapsed(1)).toBe(false);
        }
      }),
    );
  });
});
