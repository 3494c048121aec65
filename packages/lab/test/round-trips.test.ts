import { WaitRecorder } from '@shardlab/engine';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RoundTrips } from '../src/trial/round-trips.ts';

/** The time of the fake clock, which only `advance` moves. */
let now = 0;
async function advance(ms: number): Promise<void> {
  for (let step = 0; step < ms; step++) {
    now += 1;
    await vi.advanceTimersByTimeAsync(1);
  }
}

beforeEach(() => {
  now = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('emulated round trips', () => {
  test('wake each sleeper after its own time, with one timer for all', async () => {
    const waits = new WaitRecorder({ clock: { monotonicMs: () => now } });
    const sessions = [1, 2, 3].map(() => waits.openSession());
    const trips = new RoundTrips({ ms: 5, clock: () => now });
    const woken: string[] = [];
    void trips.wait(sessions[0]!).then(() => woken.push(`a at ${now}`));
    void trips.wait(sessions[1]!).then(() => woken.push(`b at ${now}`));
    await advance(3);
    void trips.wait(sessions[2]!).then(() => woken.push(`c at ${now}`));
    expect(vi.getTimerCount()).toBe(1);
    await advance(10);
    expect(woken).toEqual(['a at 5', 'b at 5', 'c at 8']);
    const recorded = waits.snapshot().find(({ event }) => event === 'client round trip');
    expect(recorded).toMatchObject({ waits: 3, totalMs: 15 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('serve thousands of sessions, and others after these have finished', async () => {
    const trips = new RoundTrips({ ms: 2, clock: () => now });
    const time = new WaitRecorder({ clock: { monotonicMs: () => now } }).openSession();
    const many = Array.from({ length: 3_000 }, () => trips.wait(time));
    await advance(2);
    await Promise.all(many);
    const again = trips.wait(time);
    await advance(2);
    await again;
  });
});
