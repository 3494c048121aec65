/** Delays and timed holds keep their length when the wall clock is set, both while an instance is open and over restarts. */
import { describe, expect, it } from 'vitest';
import { DelayClock, type RecoveredDelayClock } from '../src/model/delay-clock.ts';
import type { InstanceSession } from '../src/runtime/instance-session.ts';
import { text } from './folder.ts';
import { Chance, drainPromises, Scheduler } from './simulator/scheduler.ts';
import { SimulatedInstance } from './simulator/simulated-instance.ts';
import { SimulatedNetwork } from './simulator/simulated-interconnect.ts';
import { simulatedQueues } from './simulator/simulated-queues.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** One instance in simulated time, over a file in memory. */
class World {
  readonly scheduler = new Scheduler();
  readonly chance = new Chance(1);
  readonly instance: SimulatedInstance;
  session: InstanceSession;

  constructor() {
    const { scheduler, chance } = this;
    this.instance = new SimulatedInstance({
      instance: 1,
      instances: [1],
      scheduler,
      chance,
      network: new SimulatedNetwork(scheduler, chance, () => {}),
      queues: simulatedQueues,
      cacheBytesMax: 1_000_000,
      partitionMessagesMax: 10,
      consumerIdleMs: 50,
    });
    this.instance.open();
    this.session = this.instance.openSession();
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** Runs all events of the next `ms` milliseconds. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await drainPromises();
    while (this.scheduler.runNext(untilMs)) await drainPromises();
    this.scheduler.moveTo(untilMs);
  }

  async settle<T>(call: Promise<T>): Promise<T> {
    let settled = false;
    const onSettled = () => {
      settled = true;
    };
    call.then(onSettled, onSettled);
    await drainPromises();
    while (!settled) {
      expect(this.scheduler.runNext(), 'the call hangs').toBe(true);
      await drainPromises();
    }
    return call;
  }

  async put(payload: string, delayMs: number): Promise<void> {
    this.session.enqueue('orders', { payload, delayMs });
    await this.settle(this.session.commit());
  }

  /** Kills the instance, after its last write was synced, and opens it again `pauseMs` later. */
  async restart(pauseMs: number, wallClockByMs: number): Promise<void> {
    await this.advance(second);
    this.instance.kill();
    this.scheduler.setWallClock(wallClockByMs);
    await this.advance(pauseMs);
    this.instance.open();
    this.session = this.instance.openSession();
  }

  /** Waits for the next message; returns its payload and how long the wait took, ms. */
  async next(): Promise<[payload: string | undefined, ms: number]> {
    const startedAt = this.nowMs;
    const messages = await this.settle(this.session.dequeue('orders', { waitMs: 24 * hour }));
    await this.settle(this.session.commit());
    return [text(messages)[0], this.nowMs - startedAt];
  }
}

/** Allows for the simulated time of the disk and the writer. */
const about = (ms: number) => ({
  asymmetricMatch: (actual: number) => Math.abs(actual - ms) <= 500,
  toString: () => `about ${ms}`,
});

describe.each([
  ['back', -hour],
  ['forward', hour],
])('the wall clock is set %s by an hour', (_way, byMs) => {
  it('while messages are delayed: they are due when they would have been', async () => {
    const world = new World();
    await world.put('a', 10 * minute);
    await world.advance(4 * minute);
    world.scheduler.setWallClock(byMs);
    await world.put('b', 10 * minute);
    expect(await world.next()).toEqual(['a', about(6 * minute)]);
    expect(await world.next()).toEqual(['b', about(4 * minute)]);
  });

  it('while a message is held: the hold ends when it would have', async () => {
    const world = new World();
    await world.put('a', 0);
    const [held] = await world.settle(world.session.receive('orders', { holdMs: 10 * minute }));
    expect(text([held!])).toEqual(['a']);
    await world.advance(4 * minute);
    world.scheduler.setWallClock(byMs);
    expect(await world.next()).toEqual(['a', about(6 * minute)]);
  });

  it('while messages are delayed, and the instance is killed minutes later: nothing changes', async () => {
    const world = new World();
    await world.put('a', 30 * minute);
    await world.advance(minute);
    world.scheduler.setWallClock(byMs);
    await world.advance(3 * minute);
    await world.restart(5 * minute, 0);
    const [payload, ms] = await world.next();
    expect(payload).toBe('a');
    expect(ms).toEqual(about(30 * minute - 4 * minute - second - 5 * minute));
  });
});

describe('the wall clock is set while the instance is closed', () => {
  it('back: a delay grows by the pause and the last minute at most, however far the clock was set', async () => {
    const world = new World();
    await world.put('a', 30 * minute);
    await world.advance(10 * minute);
    await world.restart(5 * minute, -24 * hour);
    const [payload, ms] = await world.next();
    expect(payload).toBe('a');
    // 20 minutes of the delay were left.
    expect(ms).toBeGreaterThan(20 * minute - 2 * second);
    expect(ms).toBeLessThan(21 * minute + second);
  });

  it('back, before the first clock moment was stored: the time is taken from the newest delayed message', async () => {
    const world = new World();
    await world.put('a', 30 * minute);
    await world.restart(5 * minute, -24 * hour);
    expect((await world.next())[1]).toEqual(about(30 * minute));
  });

  it('forward: the delay is shortened by the change, once', async () => {
    const world = new World();
    await world.put('a', 90 * minute);
    await world.put('b', 240 * minute);
    await world.restart(minute, hour);
    const [payload, ms] = await world.next();
    expect([payload, ms]).toEqual(['a', about(90 * minute - second - minute - hour)]);
    await world.advance(2 * minute);
    const openedAtMs = world.nowMs;
    await world.restart(minute, 0);
    await world.next();
    expect(world.nowMs - openedAtMs).toEqual(about(240 * minute - 90 * minute - 2 * minute));
  });

  it('not at all: the time while the instance was closed counts towards the delay', async () => {
    const world = new World();
    await world.put('a', 30 * minute);
    await world.restart(29 * minute, 0);
    expect((await world.next())[1]).toEqual(about(minute - second));
    await world.put('b', 30 * minute);
    await world.restart(2 * hour, 0);
    expect((await world.next())[1]).toEqual(about(0));
  });
});

describe('the clock of delays', () => {
  const at = (epochMs: number, monotonicMs: number) => ({
    epochMs: () => epochMs,
    monotonicMs: () => monotonicMs,
  });
  const none: RecoveredDelayClock = { moment: null, lastEnqueuedAtMs: null };

  it('starts as the wall clock, and stores no offset while that is only corrected by moments', () => {
    const times = { epochMs: 5_000_000, monotonicMs: 100.7 };
    const clock = new DelayClock(
      { epochMs: () => times.epochMs, monotonicMs: () => times.monotonicMs },
      none,
    );
    expect(clock.nowMs()).toBe(5_000_000);
    times.monotonicMs += 400;
    times.epochMs += 1_300;
    expect(clock.moment()).toEqual({ atMs: 5_000_400, offsetMs: 0 });
    times.epochMs += 100;
    expect(clock.moment()).toEqual({ atMs: 5_000_400, offsetMs: 1_000 });
    expect(clock.epochMsOf(6_000_000)).toBe(6_001_000);
  });

  it('continues from the wall clock less the offset, never before what the file knows', () => {
    const moment = { offsetMs: 1_000, atMs: 8_000 };
    const start = (epochMs: number, lastEnqueuedAtMs: number | null) =>
      new DelayClock(at(epochMs, 7), { moment, lastEnqueuedAtMs }).nowMs();
    expect(start(10_000, null)).toBe(9_000);
    expect(start(8_500, null)).toBe(8_000);
    expect(start(8_500, 8_200)).toBe(8_200);
  });
});
