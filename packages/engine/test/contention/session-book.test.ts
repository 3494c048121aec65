/** The time book of a session on a thread, with clocks of the test: what counts as a wait, and what a reader sees at any moment. */
import { expect, it } from 'vitest';
import { bookWords, SessionBook } from '../../src/contention/session-book.ts';

function openBook() {
  let nowMs = 1_000;
  const times = { cpuMs: 50, runnableMs: 20 };
  const words = new Float64Array(new SharedArrayBuffer(bookWords * Float64Array.BYTES_PER_ELEMENT));
  const reader = new SessionBook(words);
  const book = reader.open({
    clock: { nowMs: () => nowMs },
    threadClock: { times: () => ({ ...times }), close: () => undefined },
  });
  /** Lets milliseconds pass: on a core, runnable, or asleep. */
  const pass = ({ cpu = 0, runnable = 0, asleep = 0 }) => {
    nowMs += cpu + runnable + asleep;
    times.cpuMs += cpu;
    times.runnableMs += runnable;
  };
  return { book, pass, read: () => reader.read(nowMs) };
}

it('the parts of a time book add up, with each millisecond in one part', () => {
  const { book, pass, read } = openBook();
  pass({ cpu: 3 });
  book.begin('listen');
  pass({ asleep: 100, runnable: 7 });
  book.end();
  pass({ cpu: 2, runnable: 4 });
  book.begin('commit');
  pass({ cpu: 1, asleep: 10, runnable: 2 });
  book.end();
  book.begin('mutex');
  pass({ asleep: 5 });
  expect(book.end()).toBe(5);
  const { elapsedMs, cpuMs, runnableMs, preemptedMs, waits } = read();
  expect({ elapsedMs, cpuMs, runnableMs, preemptedMs }).toEqual({
    elapsedMs: 134,
    cpuMs: 6,
    runnableMs: 13,
    preemptedMs: 4,
  });
  expect(waits).toMatchObject({
    listen: { waits: 1, ms: 100 },
    commit: { waits: 1, ms: 10 },
    mutex: { waits: 1, ms: 5 },
    latch: { waits: 0, ms: 0 },
  });
  const waitedMs = Object.values(waits).reduce((sum, { ms }) => sum + ms, 0);
  expect(cpuMs + runnableMs + waitedMs).toBe(elapsedMs);
});

it('time that is neither CPU, runnable nor a named wait stays unexplained', () => {
  const { book, pass, read } = openBook();
  pass({ asleep: 30 });
  expect(read()).toMatchObject({ elapsedMs: 0 });
  book.begin('call');
  pass({ asleep: 10 });
  book.end();
  const { elapsedMs, cpuMs, runnableMs, waits } = read();
  expect(elapsedMs - cpuMs - runnableMs - waits.call.ms).toBe(30);
});

it('a wait under way counts with the part that has passed, and the book ends with its session', () => {
  const { book, pass, read } = openBook();
  book.begin('dequeue');
  pass({ asleep: 40 });
  expect(read()).toMatchObject({ elapsedMs: 40, waits: { dequeue: { waits: 0, ms: 40 } } });
  book.end();
  book.close();
  pass({ asleep: 100 });
  expect(read()).toMatchObject({ elapsedMs: 40, waits: { dequeue: { waits: 1, ms: 40 } } });
});

it('a wait that did not sleep adds its time but is not counted as a wait', () => {
  const { book, pass, read } = openBook();
  const timer = book.timer('latch');
  timer.begin();
  pass({ asleep: 1 });
  timer.end(false);
  expect(read().waits.latch).toEqual({ waits: 0, ms: 1 });
});
