/** Wait tables of sessions, beside those of documents. */
import { expect, it } from 'vitest';
import { sessionWaitsInWords } from '../src/cli/session-waits.ts';
import { SessionTrace } from '../src/programs/xa/trace.ts';

function traceOf() {
  const trace = new SessionTrace('session 1 on instance 1', (event) => event === 'client round trip');
  let observer: ((state: string, fromMs: number, toMs: number) => void) | undefined;
  trace.follow({ observe: (given: typeof observer) => (observer = given) } as never);
  return { trace, tell: (state: string, fromMs: number, toMs: number) => observer!(state, fromMs, toMs) };
}

it('has the times, the longest and the total of each event, which add up to what elapsed', () => {
  const { trace, tell } = traceOf();
  tell('client round trip', 1_000, 1_010);
  tell('on CPU', 1_010, 1_015);
  tell('log file sync', 1_015, 1_095);
  tell('client round trip', 1_095, 1_115);
  tell('log file sync', 1_115, 1_120);
  const table = trace.table();
  expect(table).toMatchObject({
    elapsedMs: 120,
    cpuMs: 5,
    rows: [
      { event: 'log file sync', waits: 2, maxMs: 80, totalMs: 85, emulated: false },
      { event: 'client round trip', waits: 2, maxMs: 20, totalMs: 30, emulated: true },
    ],
  });
  const point = { system: 'xa-embedded', params: {}, sessionWaits: [table] };
  expect(sessionWaitsInWords([point as never], { parameters: [] }).split('\n')).toEqual([
    'xa-embedded: session 1 on instance 1, elapsed 0.12 s, CPU 0.01 s',
    `  ${'Event waited on'.padEnd(44)}   Times  Max. Wait  Total Waited  In Oracle`,
    `  ${'log file sync'.padEnd(44)}       2       0.08          0.09  log file sync`,
    `  ${'client round trip (emulated)'.padEnd(44)}       2       0.02          0.03  SQL*Net message from client`,
  ]);
});

it('names what Oracle calls the wait for the lock of a transaction, and nothing for states that are no waits', () => {
  const { trace, tell } = traceOf();
  tell('global transaction lock', 0, 20);
  tell('runnable', 20, 30);
  const point = { system: 'xa-embedded', params: {}, sessionWaits: [trace.table()] };
  const [, , lock, runnable] = sessionWaitsInWords([point as never], { parameters: [] }).split('\n');
  expect(lock).toMatch(/^ {2}global transaction lock .* 0\.02 {2}DFS lock handle$/);
  expect(runnable).toMatch(/0\.01$/);
});

it('keeps the states and calls of a recorded transaction, in times from its beginning', () => {
  const { trace, tell } = traceOf();
  tell('log file sync', 0, 90);
  trace.record();
  tell('on CPU', 90, 101);
  tell('log file sync', 101, 110);
  trace.onCall('xa_prepare', 100, 110);
  expect(trace.lane('branch 1', 100)).toEqual({
    name: 'branch 1',
    calls: [{ name: 'xa_prepare', fromUs: 0, toUs: 10_000 }],
    states: [
      { name: 'on CPU', fromUs: 0, toUs: 1_000, emulated: false },
      { name: 'log file sync', fromUs: 1_000, toUs: 10_000, emulated: false },
    ],
  });
  expect(trace.lane('branch 1', 0).calls).toEqual([]);
});
