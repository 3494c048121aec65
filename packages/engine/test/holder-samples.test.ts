/** Samples of the holders that sessions wait for, and of the waiting sessions: equally spaced, bounded, and true of their moment. */
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import type { HolderSamples } from '../src/api/waits.ts';
import { logFileSync } from '../src/model/commit-waits.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { nodePorts } from '../src/node-ports.ts';
import { openInstance } from '../src/runtime/open-instance.ts';
import { writeLock } from '../src/unsharded/write-lock.ts';
import { makeFolder } from './folder.ts';

const everyMs = limits.holderSampleMs;

/** A recorder with one slot. Its clock moves only by `pass`, and counts how often it is read. */
function book() {
  const seen = { nowMs: 1_000, reads: 0 };
  const clock = {
    monotonicMs: () => {
      seen.reads += 1;
      return seen.nowMs;
    },
  };
  const waits = new WaitRecorder({ clock });
  const slot = waits.openHolderSlot(writeLock, (holder: number | string) => holder);
  const pass = (ms: number) => {
    seen.nowMs += ms;
  };
  return { waits, slot, pass, reads: () => seen.reads };
}

const of = (series: readonly HolderSamples[], { name }: { name: string }) =>
  series.find(({ event }) => event === name)!;

describe('samples of holders', () => {
  it('show the moments at which they were due, however late the next change comes', () => {
    const { waits, slot, pass } = book();
    const [first, second] = [waits.openSession(1), waits.openSession(2)];
    const end = waits.sampleHolders({ inMs: 0 });
    slot.setHolder(7);
    first.begin(writeLock);
    pass(2.5 * everyMs); // Samples are due at 10 and 20 ms, when only the first session waited.
    second.begin(writeLock);
    pass(everyMs);
    slot.setHolder(undefined);
    first.end();
    pass(everyMs);
    expect(of(end(), writeLock).samples).toEqual([
      { holder: null, waiters: 0, waiting: [] },
      { holder: 7, waiters: 1, waiting: [1] },
      { holder: 7, waiters: 1, waiting: [1] },
      { holder: 7, waiters: 2, waiting: [1, 2] },
      { holder: null, waiters: 1, waiting: [2] },
    ]);
  });

  it('show a session that is closed while it waits up to its close, and not after', () => {
    const { waits, pass } = book();
    const [ending, other] = [waits.openSession(1), waits.openSession(2)];
    const end = waits.sampleHolders({ inMs: 5 });
    ending.begin(writeLock);
    other.begin(writeLock);
    pass(5 + 1.5 * everyMs);
    ending.close();
    pass(everyMs);
    expect(of(end(), writeLock).samples.map(({ waiting }) => waiting)).toEqual([[1, 2], [1, 2], [2]]);
  });

  it('cover their window only, as do the counted holds', () => {
    const { waits, slot, pass } = book();
    const end = waits.sampleHolders({ inMs: 100, forMs: 5 * everyMs });
    slot.setHolder(1); // This hold begins before the window.
    pass(101);
    slot.setHolder(2);
    pass(3);
    slot.setHolder(undefined);
    pass(6);
    slot.setHolder(3);
    pass(11);
    slot.setHolder('a group'); // The group is the holder now,
    pass(1_000); // and still is at the end of the window.
    slot.setHolder(undefined);
    const { samples, holds, heldMs } = of(end(), writeLock);
    expect(samples.map(({ holder }) => holder)).toEqual([1, null, 3, 'a group', 'a group']);
    expect({ holds, heldMs }).toEqual({ holds: 2, heldMs: 14 });
  });

  it('are bounded in number and evenly spread over a window of any length', () => {
    const { waits, slot, pass } = book();
    const end = waits.sampleHolders({ inMs: 0 });
    for (let index = 0; index < 5.5 * limits.holderSamplesMax; index += 1) {
      slot.setHolder(index);
      pass(everyMs);
    }
    const { samples, everyMs: between } = of(end(), writeLock);
    expect(between).toBe(8 * everyMs);
    expect(samples.length).toBeLessThanOrEqual(limits.holderSamplesMax);
    expect(samples.length).toBeGreaterThan(limits.holderSamplesMax / 2);
    // A sample that is due at the moment of a change shows the holder from before it.
    expect(samples.map(({ holder }) => holder)).toEqual(
      samples.map((_, index) => (index === 0 ? null : index * 8 - 1)),
    );
  });

  it('name a bounded number of waiting sessions, and count all of them', () => {
    const { waits, pass } = book();
    const count = limits.sampledWaitersMax + 3;
    for (let number = 1; number <= count; number += 1) waits.openSession(number).begin(writeLock);
    const end = waits.sampleHolders({ inMs: 1, forMs: everyMs });
    pass(2);
    const [sample] = of(end(), writeLock).samples;
    expect(sample!.waiters).toBe(count);
    expect(sample!.waiting).toEqual(
      Array.from({ length: limits.sampledWaitersMax }, (_, index) => index + 1),
    );
  });

  it('cost a hold no reading of the clock while no samples are requested', () => {
    const { waits, slot, reads } = book();
    const holdTwice = () => {
      const before = reads();
      slot.setHolder(1);
      slot.setHolder(undefined);
      return reads() - before;
    };
    expect(holdTwice()).toBe(0);
    const end = waits.sampleHolders({ inMs: 0 });
    expect(holdTwice()).toBe(2);
    end();
    expect(holdTwice()).toBe(0);
  });

  it('do not count the holder of something else as waiting', () => {
    const { waits, slot, pass } = book();
    const groups = waits.openHolderSlot(logFileSync, (group: string) => group);
    const writing = waits.openSession(1);
    const end = waits.sampleHolders({ inMs: 5 });
    slot.setHolder(writing.number);
    groups.setHolder('a group');
    writing.begin(logFileSync); // The sync of its own write.
    waits.openSession(2).begin(logFileSync);
    pass(6);
    expect(of(end(), logFileSync).samples).toEqual([{ holder: 'a group', waiters: 1, waiting: [2] }]);
  });

  it('show a session that waits for what it holds itself, which is a contradiction', () => {
    const { waits, slot, pass } = book();
    const end = waits.sampleHolders({ inMs: 5 });
    slot.setHolder(1);
    waits.openSession(1).begin(writeLock);
    pass(6);
    expect(of(end(), writeLock).samples).toEqual([{ holder: 1, waiters: 1, waiting: [1] }]);
  });

  it('are as many as fit into the window, however sums of its times are rounded', () => {
    for (let startMs = 0; startMs < 100; startMs += 1) {
      const { waits, pass } = book();
      pass(startMs * 1.1);
      const measureAtMs = startMs * 7.3 + 0.1;
      const end = waits.sampleHolders({ inMs: 0.3, forMs: measureAtMs + 20 * everyMs - measureAtMs });
      pass(21 * everyMs);
      expect(of(end(), writeLock).samples, `${startMs}`).toHaveLength(20);
    }
  });

  it('end when another set of samples is requested', () => {
    const { waits, pass } = book();
    const endFirst = waits.sampleHolders({ inMs: 0 });
    pass(1);
    const end = waits.sampleHolders({ inMs: 0 });
    pass(1);
    expect(of(endFirst(), writeLock).samples).toHaveLength(0);
    expect(of(end(), writeLock).samples).toHaveLength(1);
  });
});

/** On the clock of the process. */
type Interval = [fromMs: number, toMs: number];

/** A transaction has so many messages that its write takes much longer than the error of a few microseconds in the window's start. */
const messages = 50;

/**
 * Lets sessions commit one transaction after the other for `ms`. Returns the samples, and for each event and session the intervals in
 * which the session reported to wait.
 */
async function commitFor(ms: number, kind: 'sharded' | 'unsharded', sessions: number) {
  const instance = await openInstance({ dir: makeFolder(), instance: 1 });
  await instance.createQueue({ name: 'q', kind });
  const enqueuers = Array.from({ length: sessions }, () => instance.openSession());
  const reportedIntervals = new Map<string, Interval[]>();
  for (const { time } of enqueuers) {
    time!.observe((state, fromMs, toMs) => {
      const key = `${state} ${time!.number}`;
      const intervals = reportedIntervals.get(key) ?? [];
      if (intervals.push([fromMs, toMs]) === 1) reportedIntervals.set(key, intervals);
    });
  }
  const fromMs = nodePorts.clock.monotonicMs();
  const end = instance.waits.sampleHolders({ inMs: 0 });
  await Promise.all(
    enqueuers.map(async (session) => {
      while (nodePorts.clock.monotonicMs() < fromMs + ms) {
        for (let message = 0; message < messages; message += 1) session.enqueue('q', { payload: 'x' });
        await session.commit();
      }
    }),
  );
  const series = end();
  const elapsedMs = nodePorts.clock.monotonicMs() - fromMs;
  await instance.close();
  /** Whether the session reported to be in the event when the sample was due. */
  const wasIn = ({ name }: { name: string }, session: unknown, index: number) => {
    const atMs = fromMs + index * everyMs;
    return (
      reportedIntervals.get(`${name} ${session}`)?.some(([from, to]) => from <= atMs && atMs <= to) ?? false
    );
  };
  return { series, elapsedMs, wasIn };
}

describe('an instance', () => {
  it('shows which session writes to an unsharded queue, and which sessions wait for it', async () => {
    const { series, elapsedMs, wasIn } = await commitFor(1_000, 'unsharded', 5);
    const { samples, holds, heldMs } = of(series, writeLock);
    const held = [...samples.entries()].filter(([, { holder }]) => holder !== null);
    // The share by samples equals the share by the times of all holds, within four standard errors.
    const share = heldMs / elapsedMs;
    const standardError = Math.sqrt((share * (1 - share)) / samples.length);
    expect(holds).toBeGreaterThan(10);
    expect(Math.abs(held.length / samples.length - share)).toBeLessThan(4 * standardError);
    // The sessions' own intervals agree: the sampled holder wrote, and the sampled waiters waited. A few samples may differ, as they fall
    // into the microseconds around the start of the window, or between the beginning of a hold and that of its write.
    const writing = held.filter(([index, { holder }]) => wasIn(logFileSync, holder, index));
    expect(writing.length, `of ${held.length}`).toBeGreaterThan(0.8 * held.length);
    const waiters = held.flatMap(([index, { waiting }]) => waiting.map((session) => ({ index, session })));
    const waited = waiters.filter(({ index, session }) => wasIn(writeLock, session, index));
    expect(waited.length, `of ${waiters.length}`).toBeGreaterThan(0.8 * waiters.length);
    for (const [, { holder, waiting }] of held) expect(waiting).not.toContain(holder);
    expect(waiters.length).toBeGreaterThan(held.length / 2);
  });

  it('shows the group that is being written, for which its members wait', async () => {
    const { series, elapsedMs } = await commitFor(1_000, 'sharded', 5);
    const { samples, heldMs } = of(series, logFileSync);
    const held = samples.filter(({ holder }) => holder !== null);
    const share = heldMs / elapsedMs;
    const standardError = Math.sqrt((share * (1 - share)) / samples.length);
    expect(Math.abs(held.length / samples.length - share)).toBeLessThan(4 * standardError);
    for (const { holder, waiters } of held) {
      const [, members] = /^group \d+ of (\d+) transactions?$/.exec(String(holder))!;
      expect(waiters).toBeGreaterThanOrEqual(Number(members) - 1); // One member may be the instance itself, which writes its statistics.
    }
  });
});
