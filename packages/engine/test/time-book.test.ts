/** The time book of sessions: one state at each moment, so that the parts of their time add up. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SessionTimes, type WaitEvent, waitEvents } from '../src/api/waits.ts';
import { unreadMessage } from '../src/contention/wait-events.ts';
import { logFileSync, partitionMaintenance, writerReservation } from '../src/model/commit-waits.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { payloadSource } from '../src/queues/payloads/payload-upload.ts';
import { waitingForMessages } from '../src/queues/waiters.ts';
import { writeLock } from '../src/unsharded/write-lock.ts';

const events = waitEvents();

/** A recorder whose clock moves only by `pass`. */
function book(emulated: WaitEvent[] = []) {
  let nowMs = 1_000;
  const waits = new WaitRecorder({ clock: { monotonicMs: () => nowMs }, emulated });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { waits, pass };
}

const totalOf = (waits: WaitRecorder, event: WaitEvent) =>
  waits.snapshot().find((stats) => stats.event === event.name)!;

const sumOfParts = ({ cpuMs, waitMs, idleMs, runnableMs, unnamedMs }: SessionTimes) =>
  cpuMs + waitMs + idleMs + runnableMs + unnamedMs;

describe('the time of a session', () => {
  it('is split at the moment when its wait ended, not when its program continued', async () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.resume();
    pass(1);
    time.begin(logFileSync);
    time.suspend(undefined);
    pass(10);
    time.end();
    pass(100); // The thread is busy with other sessions.
    time.resume();
    pass(1);
    expect(totalOf(waits, logFileSync)).toMatchObject({ waits: 1, totalMs: 10 });
    expect(waits.sessionTimes()).toEqual({
      elapsedMs: 112,
      cpuMs: 2,
      waitMs: 10,
      idleMs: 0,
      runnableMs: 100,
      unnamedMs: 0,
    });
  });

  it('adds to each interval the part of a wait under way, and counts the wait once, at its end', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.begin(writeLock);
    pass(30);
    expect(totalOf(waits, writeLock)).toMatchObject({ waits: 0, totalMs: 30 });
    pass(12);
    time.end();
    pass(5);
    expect(totalOf(waits, writeLock)).toMatchObject({ waits: 1, totalMs: 42 });
  });

  it('is unnamed in a call that names no wait, and runnable in a call that was answered at once', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.resume();
    time.suspend(undefined);
    pass(3);
    time.resume();
    time.answer();
    time.suspend(undefined);
    pass(4);
    time.resume();
    time.suspend(undefined); // The earlier answer was for another call.
    pass(5);
    expect(waits.sessionTimes()).toMatchObject({ elapsedMs: 12, unnamedMs: 8, runnableMs: 4 });
  });

  it('is unnamed for a session that did not mark that it left the CPU, since a thread runs one session', () => {
    const { waits, pass } = book();
    const [one, two] = [waits.openSession(), waits.openSession()];
    one.resume();
    pass(2);
    two.resume();
    pass(3);
    expect(waits.sessionTimes()).toMatchObject({ elapsedMs: 8, cpuMs: 5, unnamedMs: 3 });
  });

  it('can count a part of a wait, up to all of it, under another event', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.resume();
    time.begin(logFileSync);
    pass(10);
    time.reassign(partitionMaintenance, 4);
    time.reassign(writerReservation, 100);
    time.end();
    expect(totalOf(waits, partitionMaintenance).totalMs).toBe(4);
    expect(totalOf(waits, writerReservation).totalMs).toBe(6);
    expect(totalOf(waits, logFileSync)).toMatchObject({ waits: 1, totalMs: 0 });
    expect(waits.sessionTimes()).toMatchObject({ elapsedMs: 10, waitMs: 10 });
  });

  it('has only wait events for a session whose program marks nothing', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.begin(logFileSync);
    pass(10);
    time.end();
    pass(10);
    expect(totalOf(waits, logFileSync).totalMs).toBe(10);
    expect(waits.sessionTimes()).toMatchObject({ elapsedMs: 0, waitMs: 0, runnableMs: 0 });
  });

  it('is reported to an observer, each state with its beginning and end, while there is one', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    const observed: [string, number, number][] = [];
    time.observe((...interval) => observed.push(interval));
    pass(5); // This time is not marked, so it is in no state.
    time.resume();
    pass(1);
    time.begin(logFileSync);
    time.suspend(undefined);
    pass(10);
    time.reassign(partitionMaintenance, 4);
    time.end();
    pass(2);
    time.resume();
    pass(3);
    time.suspend(undefined);
    pass(1);
    time.resume();
    time.observe(undefined);
    pass(1);
    time.close();
    expect(observed).toEqual([
      ['on CPU', 1_005, 1_006],
      ['partition maintenance', 1_006, 1_010],
      ['log file sync', 1_010, 1_016],
      ['runnable', 1_016, 1_018],
      ['on CPU', 1_018, 1_021],
      ['unnamed', 1_021, 1_022],
    ]);
  });

  it('ends with its close, once', () => {
    const { waits, pass } = book();
    const time = waits.openSession();
    time.resume();
    pass(7);
    time.close();
    pass(7);
    time.close();
    expect(waits.sessionTimes()).toMatchObject({ elapsedMs: 7, cpuMs: 7 });
  });
});

it('a session is in one state at a time and the parts add up in every interval, in any order of marks', () => {
  const mark = fc.oneof(
    fc.record({
      kind: fc.constantFrom('resume', 'suspend', 'yield', 'end', 'work', 'endWork', 'answer', 'close'),
    }),
    fc.record({ kind: fc.constantFrom('begin', 'suspendFor'), event: fc.constantFrom(...events) }),
    fc.record({
      kind: fc.constant('reassign'),
      event: fc.constantFrom(...events),
      ms: fc.integer({ min: 0, max: 20 }),
    }),
  );
  const step = fc.record({ mark, session: fc.nat(3), afterMs: fc.integer({ min: 0, max: 50 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { waits, pass } = book();
      const sessions = Array.from({ length: 4 }, () => waits.openSession());
      const marked = new Set<number>();
      const closed = new Set<number>();
      let before = waits.sessionTimes();
      let waitedMs = 0;
      for (const { mark: each, session, afterMs } of steps) {
        if (closed.has(session)) continue; // No marks follow the close.
        const time = sessions[session]!;
        if (each.kind === 'begin') time.begin((each as { event: WaitEvent }).event);
        else if (each.kind === 'suspendFor') time.suspend(undefined, (each as { event: WaitEvent }).event);
        else if (each.kind === 'reassign') {
          const { event, ms } = each as { event: WaitEvent; ms: number };
          time.reassign(event, ms);
        } else time[each.kind as 'resume' | 'yield' | 'end']?.(undefined as never);
        if (each.kind === 'resume') marked.add(session);
        if (each.kind === 'close') closed.add(session);
        const running = marked.size - [...closed].filter((number) => marked.has(number)).length;
        const at = waits.sessionTimes();
        pass(afterMs);
        const after = waits.sessionTimes();
        expect(sumOfParts(after)).toBeCloseTo(after.elapsedMs, 6);
        expect(after.elapsedMs - at.elapsedMs).toBeCloseTo(running * afterMs, 6);
        // A thread runs one session at a time, so the sum of their CPU time never exceeds the elapsed time.
        expect(after.cpuMs - at.cpuMs).toBeLessThanOrEqual(afterMs);
        for (const part of Object.keys(after) as (keyof SessionTimes)[])
          expect(after[part] - at[part]).toBeGreaterThanOrEqual(0);
        waitedMs = waits.snapshot().reduce((sum, { totalMs }) => sum + totalMs, 0);
        before = after;
      }
      // Waits of sessions that mark nothing are in the log of events only.
      expect(waitedMs).toBeGreaterThanOrEqual(before.waitMs + before.idleMs - 1e-6);
    }),
    { numRuns: 300 },
  );
});

it('waits that the program chooses are idle: for messages, in a listen, and for the source of a payload', () => {
  const idle = events.filter(({ isIdle }) => isIdle).map(({ name }) => name);
  expect(new Set(idle)).toEqual(new Set([waitingForMessages.name, unreadMessage.name, payloadSource.name]));
});
