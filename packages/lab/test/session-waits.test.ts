/** The wait tables of sessions, which are compared with those of documents. */
import { explainedShare } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { sessionWaitsInWords } from '../src/cli/session-waits.ts';
import { SessionTrace } from '../src/programs/xa/trace.ts';

type Observer = (state: string, fromMs: number, toMs: number) => void;

/** The time book of a session, which reports its states to an observer; `tell` reports one. */
function timeOf() {
  let observer: Observer | undefined;
  const tell: Observer = (state, fromMs, toMs) => observer!(state, fromMs, toMs);
  return { time: { observe: (given: Observer) => (observer = given) } as never, tell };
}

function traceOf() {
  const trace = new SessionTrace('session 1 on instance 1', (event) => event === 'client round trip');
  const { time, tell } = timeOf();
  trace.follow(time);
  return { trace, time, tell };
}

it('has the number, the longest and the total of each event, which add up to the elapsed time', () => {
  const { trace, tell } = traceOf();
  trace.begin(1_000);
  tell('client round trip', 1_000, 1_010);
  tell('on CPU', 1_010, 1_015);
  tell('log file sync', 1_015, 1_095);
  tell('client round trip', 1_095, 1_115);
  tell('log file sync', 1_115, 1_120);
  trace.end(1_120);
  const table = { ...trace.table(), calls: 2, roundTrips: 2, cpuOf: 'client' as const, instanceCpuMs: 30 };
  expect(explainedShare(table)).toBe(1);
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
    'xa-embedded: session 1 on instance 1, elapsed 0.12 s, 2 round trips, CPU 0.01 s of the client, 0.03 s of the instances, 100.0 % explained',
    `  ${'Event waited on'.padEnd(44)}   Times  Max. Wait  Total Waited  In Oracle`,
    `  ${'log file sync'.padEnd(44)}       2       0.08          0.09  log file sync`,
    `  ${'client round trip (emulated)'.padEnd(44)}       2       0.02          0.03  SQL*Net message from client`,
  ]);
});

it('does not explain the time of calls that named no wait event, nor time without any state', () => {
  const { trace, tell } = traceOf();
  trace.begin(0);
  tell('on CPU', 0, 10);
  tell('unnamed', 10, 30);
  tell('log file sync', 30, 70);
  tell('runnable', 70, 80);
  trace.end(100);
  tell('other branch', 80, 200); // ends after the trace
  expect(trace.table()).toMatchObject({ elapsedMs: 100, cpuMs: 10 });
  expect(explainedShare(trace.table())).toBe(0.6);
  expect(explainedShare({ elapsedMs: 0, cpuMs: 0, rows: [] })).toBeNull();
});

it('has one state at a time, also if it follows a session of another instance and returns', () => {
  const { trace, time, tell } = traceOf();
  const other = timeOf();
  trace.begin(0);
  tell('log file sync', 0, 10);
  trace.follow(other.time);
  other.tell('server call', 10, 40);
  tell('other branch', 10, 40);
  trace.follow(time);
  other.tell('other branch', 40, 50);
  tell('on CPU', 40, 50);
  trace.end(50);
  const table = trace.table();
  expect(table.rows.map(({ event, totalMs }) => [event, totalMs])).toEqual([
    ['server call', 30],
    ['log file sync', 10],
  ]);
  expect(explainedShare(table)).toBe(1);
});

it('names Oracle’s event for the wait for a transaction’s lock, and none for states that are not waits', () => {
  const { trace, tell } = traceOf();
  tell('global transaction lock', 0, 20);
  tell('runnable', 20, 30);
  trace.end(30);
  const point = { system: 'xa-embedded', params: {}, sessionWaits: [trace.table()] };
  const [, , lock, runnable] = sessionWaitsInWords([point as never], { parameters: [] }).split('\n');
  expect(lock).toMatch(/^ {2}global transaction lock .* 0\.02 {2}DFS lock handle$/);
  expect(runnable).toMatch(/0\.01$/);
});

it('keeps the states and calls of a recorded transaction, with times relative to its start', () => {
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
