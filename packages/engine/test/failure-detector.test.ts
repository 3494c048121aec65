/** When a process of a cluster counts as slow, and when as failed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import {
  FailureDetector,
  type Heartbeat,
  judge,
  type Life,
  TurnlessTime,
} from '../src/model/failure-detector.ts';

const checkMs = 50;
const { leaseMs, leaseRenewMs, turnlessMsMax } = limits;
const pid = 7;

interface Observed {
  heartbeat?: Heartbeat;
  stopped?: boolean;
}

const beat = (atMs: number, turnlessMs = 0): Heartbeat => ({ pid, expiresAtMs: atMs + leaseMs, turnlessMs });
/** The last heartbeat of a process that writes one every `leaseRenewMs`. */
const beatAt = (nowMs: number, turnlessMs = 0) => beat(nowMs - (nowMs % leaseRenewMs), turnlessMs);

/** Checks every 50 ms. Returns the time of the first check that found the process in this state. */
function firstTime(
  life: Life,
  untilMs: number,
  at: (nowMs: number) => Observed,
  { detector = new FailureDetector(), fromMs = 0 } = {},
): number | undefined {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += checkMs) {
    const { heartbeat, stopped = false } = at(nowMs);
    detector.observe(nowMs, [pid], heartbeat === undefined ? [] : [heartbeat], () => stopped);
    if (detector.lifeOf(pid) === life) return nowMs;
  }
  return undefined;
}

describe('the rule', () => {
  const judged = (silentMs: number, turnlessMs: number, stoppedMs = 0) =>
    judge({ silentMs, turnlessMs, stoppedMs }, turnlessMsMax);

  it.each<[Life, number, number, number]>([
    ['responsive', 0, 0, 0],
    ['responsive', 999, 0, 500],
    ['responsive', 400, 599, 0],
    ['slow', 1_000, 0, 0],
    ['slow', 0, 1_000, 0],
    ['slow', 400, 600, 0],
    ['slow', 1_000, 0, 499],
    ['slow', 900, 200, 900],
    ['stopped', 1_000, 0, 500],
    ['stopped', 40_000, 0, 40_000],
    ['slow', 29_999, 0, 0],
    ['slow', 0, 29_999, 0],
    ['slow', 10_000, 19_999, 0],
    ['hung', 30_000, 0, 0],
    ['hung', 0, 30_000, 0],
    ['hung', 10_000, 20_000, 0],
  ])(
    '%s: silent for %i ms, no turn for %i ms before, stopped for %i ms',
    (life, silent, turnless, stopped) => {
      expect(judged(silent, turnless, stopped)).toBe(life);
    },
  );

  it('takes no process for failed that is neither stopped nor without a turn for 30 s', () => {
    const ms = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(ms, ms, ms, (silentMs, turnlessMs, stoppedMs) => {
        const life = judge({ silentMs, turnlessMs, stoppedMs }, turnlessMsMax);
        const failed = life === 'stopped' || life === 'hung';
        const isStopped = silentMs >= leaseMs && stoppedMs >= leaseMs / 2;
        expect(failed).toBe(isStopped || silentMs + turnlessMs >= turnlessMsMax);
      }),
    );
  });
});

describe('a process as another one sees it', () => {
  it('is taken for stopped a lease after its last heartbeat, if the system says so', () => {
    const stoppedAt = 2_100;
    const at = (nowMs: number) => ({
      heartbeat: beatAt(Math.min(nowMs, stoppedAt)),
      stopped: nowMs >= stoppedAt,
    });
    expect(firstTime('stopped', 5_000, at)).toBe(3_000);
  });

  it('is not if it is resumed in between', () => {
    const stopped = (nowMs: number) => nowMs >= 2_000 && nowMs < 2_700;
    const at = (nowMs: number) => ({
      heartbeat: stopped(nowMs) ? beat(1_750) : beatAt(nowMs),
      stopped: stopped(nowMs),
    });
    expect(firstTime('stopped', 10_000, at)).toBeUndefined();
  });

  it('is slow while it is silent and not stopped, and has failed after 30 s of that', () => {
    const starved = () => ({ heartbeat: beat(0) });
    expect(firstTime('slow', 40_000, starved)).toBe(1_000);
    expect(firstTime('hung', 40_000, starved)).toBe(30_000);
    expect(firstTime('stopped', 40_000, starved)).toBeUndefined();
  });

  it('is judged in the same way before its first heartbeat, as while it starts', () => {
    expect(firstTime('hung', 40_000, () => ({}))).toBe(30_000);
  });

  it('has failed when its own thread tells that its loop has made no turn for 30 s', () => {
    const blockedAt = 500;
    const at = (nowMs: number) => ({
      heartbeat: beatAt(nowMs, Math.max(0, nowMs - (nowMs % 250) - blockedAt)),
    });
    expect(firstTime('slow', 40_000, at)).toBe(1_500);
    expect(firstTime('hung', 40_000, at)).toBe(30_500);
  });

  it('is responsive again with its next turn', () => {
    const detector = new FailureDetector();
    const at = (nowMs: number) => ({ heartbeat: nowMs < 20_000 ? beat(0) : beatAt(nowMs) });
    expect(firstTime('slow', 19_950, at, { detector })).toBe(1_000);
    expect(firstTime('responsive', 25_000, at, { detector, fromMs: 1_050 })).toBe(20_000);
    expect(detector.unresponsiveMsOf(pid)).toBe(0);
  });

  it('does not age while the observer or the whole machine is suspended', () => {
    const detector = new FailureDetector();
    expect(firstTime('slow', 1_000, (nowMs) => ({ heartbeat: beatAt(nowMs) }), { detector })).toBeUndefined();
    // For an hour nobody ran. The other one writes its next heartbeat 600 ms after the first check of this one.
    const later = 3_600_000;
    const at = (nowMs: number) => ({ heartbeat: nowMs < later + 600 ? beat(1_000) : beatAt(nowMs) });
    expect(firstTime('slow', later + 10_000, at, { detector, fromMs: later })).toBeUndefined();
  });

  it('is judged by its own heartbeats alone: those of an earlier boot or of another process do not count', () => {
    const stale = () => ({ heartbeat: { ...beat(1e12), pid } });
    expect(firstTime('hung', 40_000, stale)).toBe(30_000);
    const ofAnother = (nowMs: number) => ({ heartbeat: { ...beatAt(nowMs), pid: pid + 1 } });
    expect(firstTime('hung', 40_000, ofAnother)).toBe(30_000);
  });

  it('never fails while it makes turns, however irregular the checks and the heartbeats are', () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.boolean()), { maxLength: 200 });
    fc.assert(
      fc.property(gaps, (steps) => {
        const detector = new FailureDetector();
        let nowMs = 0;
        let last = beat(0);
        let checks = 0;
        for (const [gapMs, beats] of steps) {
          nowMs += gapMs;
          checks = beats ? 0 : checks + 1;
          if (beats) last = beat(nowMs, Math.min(gapMs, 2 * leaseRenewMs));
          detector.observe(nowMs, [pid], [last], () => false);
          if (checks < turnlessMsMax / leaseRenewMs - 2)
            expect(['responsive', 'slow']).toContain(detector.lifeOf(pid));
        }
      }),
    );
  });
});

describe('the time without a turn', () => {
  it('is that since the number of turns last changed', () => {
    const time = new TurnlessTime();
    const counted = [0, 1, 2, 2, 2, 3, 3].map((turns, index) => time.count(index * 250, turns));
    expect(counted).toEqual([0, 0, 0, 250, 500, 0, 250]);
  });

  it('is not counted while the thread that counts does not run either', () => {
    const time = new TurnlessTime();
    time.count(0, 5);
    expect(time.count(60_000, 5)).toBe(500);
  });
});
